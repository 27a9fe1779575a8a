/**
 * Leases of SQS. A token is the receipt handle and what a settle verb needs beside it. SQS does not say whether a delete
 * has deleted, and may accept a handle that is too old; so what a lease is still good for is decided here, by its time.
 */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { type Delivery, tagsOf } from './message.ts';
import type { LaneName, QueueAddress } from './queues.ts';

export interface Ticket {
  readonly handle: string;
  readonly messageId: string;
  readonly id: string;
  readonly job: string;
  readonly group: string | null;
  readonly lane: LaneName;
  /** Epoch ms. SQS lets nobody hide a message for more than 12 hours from here. */
  readonly receivedAt: number;
}

export interface Terms {
  readonly address: QueueAddress;
  readonly receivedAt: number;
  readonly expiresAt: number;
  /** Deliveries of this message that were released and do not count. */
  readonly uncounted: number;
}

export function leaseFrom(
  delivery: Delivery,
  { address, receivedAt, expiresAt, uncounted }: Terms,
): JobLease {
  const { id, job, group, attempts } = tagsOf(delivery);
  const { receiptHandle: handle, messageId } = delivery;
  const ticket: Ticket = { handle, messageId, id, job, group, lane: address.lane, receivedAt };
  return {
    queue: address.name,
    body: delivery.body,
    attempt: Math.max(1, attempts + delivery.receiveCount - uncounted),
    token: JSON.stringify(ticket),
    expiresAt,
    // SQS cannot tell a lease that ran out from a message that was given back.
    interrupted: false,
  };
}

export function ticketOf({ token }: JobLease): Ticket {
  try {
    return JSON.parse(token) as Ticket;
  } catch (cause) {
    throw new LongshoreError('BACKEND', 'Expected a lease that sqs() has made, got another token.', {
      cause,
    });
  }
}

export interface LeaseBook {
  /** Whether the lease may still be used. */
  isOpen(lease: JobLease): boolean;
  /** Takes the right to settle; `false` when it has ended or was taken before. */
  take(lease: JobLease): boolean;
  /** Settling has failed: the right is given back. */
  untake(lease: JobLease): void;
  renewed(lease: JobLease, expiresAt: number): void;
}

interface Entry {
  readonly endsAt: number;
  readonly settled: boolean;
  /** From then on the entry says nothing that the lease does not say itself. */
  readonly forgetAt: number;
}

export function createLeaseBook(now: () => number): LeaseBook {
  const entries = new Map<string, Entry>();

  /** 0 = settled. */
  function endOf({ token, expiresAt }: JobLease): number {
    const entry = entries.get(token);
    if (!entry) return expiresAt;
    return entry.settled ? 0 : entry.endsAt;
  }

  function note({ token, expiresAt }: JobLease, endsAt: number, settled: boolean): void {
    // Oldest first, and only as far as there is something to forget: renewals keep their address and wait their turn.
    for (const [old, { forgetAt }] of entries) {
      if (forgetAt > now()) break;
      entries.delete(old);
    }
    entries.delete(token);
    entries.set(token, { endsAt, settled, forgetAt: Math.max(endsAt, expiresAt) });
  }

  return {
    isOpen: (lease) => endOf(lease) > now(),
    take(lease) {
      const endsAt = endOf(lease);
      if (endsAt <= now()) return false;
      note(lease, endsAt, true);
      return true;
    },
    untake(lease) {
      const entry = entries.get(lease.token);
      if (entry) note(lease, entry.endsAt, false);
    },
    renewed(lease, expiresAt) {
      // A renewal whose answer comes after the end: the message may be hidden for longer, but it is settled.
      if (!entries.get(lease.token)?.settled) note(lease, expiresAt, false);
    },
  };
}
