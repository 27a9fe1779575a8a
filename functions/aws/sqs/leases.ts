/**
 * Leases of SQS. A token holds the receipt handle and the data that settling needs. SQS does not report whether a delete has deleted anything,
 * and may accept an old handle. So the lease table decides by time whether a lease may still settle.
 */

import type { JobLease } from '../../../core/contract/queue.ts';
import { receiptIn } from '../../../core/kit/clouds/queue.ts';
import { type Delivery, type Tags, tagsOf } from './message.ts';
import type { LaneName, QueueAddress } from './queues.ts';

export interface Receipt extends Pick<Tags, 'id' | 'job' | 'group' | 'suspect'> {
  readonly handle: string;
  readonly messageId: string;
  readonly lane: LaneName;
  /** Epoch ms. SQS hides a message for at most 12 hours after that. */
  readonly receivedAt: number;
}

export interface Terms {
  readonly address: QueueAddress;
  readonly receivedAt: number;
  readonly expiresAt: number;
  /** Deliveries of this message that were released and do not count. */
  readonly refunded: number;
}

export function leaseFrom(delivery: Delivery, { address, receivedAt, expiresAt, refunded }: Terms): JobLease {
  const { id, job, group, attempts, suspect } = tagsOf(delivery);
  const attempt = Math.max(1, attempts + delivery.receiveCount - refunded);
  const { receiptHandle: handle, messageId } = delivery;
  const receipt: Receipt = {
    handle,
    messageId,
    id,
    job,
    group,
    lane: address.lane,
    receivedAt,
    ...((suspect || attempt > attempts + 1) && { suspect: true }),
  };
  const lease: JobLease = {
    queue: address.name,
    body: delivery.body,
    attempt,
    token: JSON.stringify(receipt),
    expiresAt,
    // SQS does not report whether a lease ran out or the message was released.
    interrupted: false,
  };
  return delivery.refusal === undefined ? lease : { ...lease, refusal: delivery.refusal };
}

export const receiptOf = (lease: JobLease): Receipt => receiptIn<Receipt>(lease, 'sqs()');

interface Entry {
  readonly endsAt: number;
  readonly settled: boolean;
  /** From then on the entry is not needed, because the lease itself shows that it has ended. */
  readonly forgetAt: number;
}

export function createLeaseTable(now: () => number) {
  const entries = new Map<string, Entry>();

  /** 0 = settled. */
  function endOf({ token, expiresAt }: JobLease): number {
    const entry = entries.get(token);
    if (!entry) return expiresAt;
    return entry.settled ? 0 : entry.endsAt;
  }

  function write({ token, expiresAt }: JobLease, endsAt: number, settled: boolean): void {
    // The map is in the order of writing. Expired entries behind a valid one are removed later.
    for (const [old, { forgetAt }] of entries) {
      if (forgetAt > now()) break;
      entries.delete(old);
    }
    entries.delete(token);
    entries.set(token, { endsAt, settled, forgetAt: Math.max(endsAt, expiresAt) });
  }

  return {
    /** Whether the lease may still be used. */
    isOpen: (lease: JobLease): boolean => endOf(lease) > now(),
    /** Takes the right to settle; `false` = the lease has ended or was taken before. */
    take(lease: JobLease): boolean {
      const endsAt = endOf(lease);
      if (endsAt <= now()) return false;
      write(lease, endsAt, true);
      return true;
    },
    /** Settling has failed: it may be repeated. */
    untake(lease: JobLease): void {
      const entry = entries.get(lease.token);
      if (entry) write(lease, entry.endsAt, false);
    },
    renewed(lease: JobLease, expiresAt: number): void {
      // The answer to a renewal may arrive after the lease was settled. Then it changes nothing.
      if (!entries.get(lease.token)?.settled) write(lease, expiresAt, false);
    },
  };
}
