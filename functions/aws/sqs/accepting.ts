/** From deliveries to leases, whoever has received them. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Connection } from './connection.ts';
import { leaseFrom } from './leases.ts';
import { type Delivery, tagsOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { Settling } from './settling.ts';
import type { Uncounted } from './uncounted.ts';

export interface Accepted {
  /** Messages that may run, beside their deliveries. */
  readonly leases: readonly { readonly delivery: Delivery; readonly lease: JobLease }[];
  /** Not due yet: they were sent on, and what was delivered is gone. */
  readonly postponed: readonly Delivery[];
  /** Neither: a store or SQS failed. They come back by themselves. */
  readonly failed: readonly { readonly delivery: Delivery; readonly error: unknown }[];
}

export interface Accepting {
  /** Of messages that were received elsewhere, and may be held until `expiresAt`. */
  accept(address: QueueAddress, deliveries: readonly Delivery[], expiresAt: number): Promise<Accepted>;
  admit(
    address: QueueAddress,
    deliveries: readonly Delivery[],
    receivedAt: number,
    expiresAt: number,
  ): Promise<Accepted>;
}

/** Lambda does not say when it received a message; an hour is longer than it keeps one before it calls the function. */
const pushedMs = 3_600_000;

export function createAccepting(
  { clock }: Connection,
  settling: () => Promise<Settling>,
  uncounted: Uncounted | null,
): Accepting {
  async function admit(
    address: QueueAddress,
    deliveries: readonly Delivery[],
    receivedAt: number,
    expiresAt: number,
  ): Promise<Accepted> {
    const { fifo } = address;
    const leases: { delivery: Delivery; lease: JobLease }[] = [];
    const postponed: Delivery[] = [];
    const failed: { delivery: Delivery; error: unknown }[] = [];
    for (const delivery of deliveries) {
      try {
        const refunded = fifo && delivery.receiveCount > 1 ? await uncounted?.of(delivery.messageId) : 0;
        const lease = leaseFrom(delivery, { address, receivedAt, expiresAt, uncounted: refunded ?? 0 });
        const { notBefore } = tagsOf(delivery);
        if (fifo || notBefore === null || notBefore <= clock.now()) leases.push({ delivery, lease });
        else if (await (await settling()).sendOn(lease, lease.attempt - 1, notBefore))
          postponed.push(delivery);
      } catch (error) {
        failed.push({ delivery, error });
      }
    }
    return { leases, postponed, failed };
  }

  return {
    admit,
    accept: (address, deliveries, expiresAt) => admit(address, deliveries, clock.now() - pushedMs, expiresAt),
  };
}
