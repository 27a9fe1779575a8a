/** Leases of Service Bus. A token is the lock's token and what a settle verb needs beside it. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { Delivery, Tags } from './message.ts';

export interface Receipt {
  readonly lockToken: string;
  readonly tags: Tags;
}

/** @param counted which attempt of this copy it is, where Service Bus does not count it */
export function leaseFrom(
  delivery: Delivery,
  queue: string,
  expiresAt: number,
  counted = delivery.deliveryCount,
): JobLease {
  const { body, lockToken, tags, refusal } = delivery;
  const receipt: Receipt = { lockToken, tags };
  const lease: JobLease = {
    queue,
    body,
    attempt: tags.attempts + counted,
    token: JSON.stringify(receipt),
    expiresAt,
    // A released message goes as a copy, which is delivered for the first time, or was taken back. So another one was never settled.
    interrupted: tags.interrupted || counted > 1,
  };
  return refusal === undefined ? lease : { ...lease, refusal };
}

export function receiptOf({ token }: JobLease): Receipt {
  try {
    return JSON.parse(token) as Receipt;
  } catch (cause) {
    throw new LongshoreError('BACKEND', 'Expected a lease that serviceBus() has made, got another token.', {
      cause,
    });
  }
}
