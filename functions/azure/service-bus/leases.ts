/** Leases of Service Bus: a token is the lock's, and what a settle verb needs beside it. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { Delivery, Tags } from './message.ts';

export interface Ticket {
  readonly lockToken: string;
  readonly tags: Tags;
}

export function leaseFrom(delivery: Delivery, queue: string, expiresAt: number): JobLease {
  const { body, lockToken, deliveryCount, tags } = delivery;
  const ticket: Ticket = { lockToken, tags };
  return {
    queue,
    body,
    attempt: tags.attempts + deliveryCount,
    token: JSON.stringify(ticket),
    expiresAt,
    // What is given back goes as a copy, which is delivered for the first time. So whatever comes again was not settled.
    interrupted: tags.interrupted || deliveryCount > 1,
  };
}

export function ticketOf({ token }: JobLease): Ticket {
  try {
    return JSON.parse(token) as Ticket;
  } catch (cause) {
    throw new LongshoreError('BACKEND', 'Expected a lease that serviceBus() has made, got another token.', {
      cause,
    });
  }
}
