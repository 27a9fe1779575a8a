/** From deliveries to leases, whoever has received them. */

import type { JobLease } from '../../../core/contract.ts';
import type { Connection } from './connection.ts';
import { leaseFrom } from './leases.ts';
import { type Delivery, deliveryOf, tagsOf } from './message.ts';
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

export interface Receiving {
  /** One receive call, at most ten leases. `waitMs` 0 = look once. */
  receive(queue: string, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]>;
  accept(queue: string, deliveries: readonly Delivery[], expiresAt: number): Promise<Accepted>;
  /** Throws `CONFIG` unless the queue and its dead-letter queue exist. Asks once. */
  check(queue: string): Promise<void>;
}

/** Lambda does not say when it received a message; an hour is longer than it keeps one before it calls the function. */
const pushedMs = 3_600_000;

export function createReceiving(
  { clock, placeOf, told }: Connection,
  settling: Settling,
  uncounted: Uncounted | null,
): Receiving {
  const checks = new Map<string, Promise<void>>();

  function check(queue: string): Promise<void> {
    const known = checks.get(queue);
    if (known) return known;
    const { url, deadLetterUrl } = placeOf(queue);
    const begun = (async () => {
      await told(`looking for queue "${queue}" at ${url}`, (api) => api.attributes(url, ['QueueArn']));
      await told(`looking for the dead-letter queue of "${queue}" at ${deadLetterUrl}`, (api) =>
        api.attributes(deadLetterUrl, ['QueueArn']),
      );
    })();
    checks.set(queue, begun);
    begun.catch(() => checks.delete(queue));
    return begun;
  }

  async function admit(
    queue: string,
    deliveries: readonly Delivery[],
    receivedAt: number,
    expiresAt: number,
  ): Promise<Accepted> {
    const { fifo } = placeOf(queue);
    const leases: { delivery: Delivery; lease: JobLease }[] = [];
    const postponed: Delivery[] = [];
    const failed: { delivery: Delivery; error: unknown }[] = [];
    for (const delivery of deliveries) {
      try {
        const handedBack = fifo && delivery.receiveCount > 1 ? await uncounted?.of(delivery.messageId) : 0;
        const lease = leaseFrom(delivery, { queue, receivedAt, expiresAt, uncounted: handedBack ?? 0 });
        const { notBefore } = tagsOf(delivery);
        if (fifo || notBefore === null || notBefore <= clock.now()) leases.push({ delivery, lease });
        else if (await settling.sendOn(lease, lease.attempt - 1, notBefore)) postponed.push(delivery);
      } catch (error) {
        failed.push({ delivery, error });
      }
    }
    return { leases, postponed, failed };
  }

  return {
    check,
    async receive(queue, max, leaseMs, waitMs) {
      await check(queue); // before the first job is taken: a job that dies must have a place to go
      const { url } = placeOf(queue);
      const sentAt = clock.now();
      const messages = await told(`receiving from queue "${queue}"`, (api) =>
        api.receive({
          QueueUrl: url,
          MaxNumberOfMessages: max,
          VisibilityTimeout: Math.ceil(leaseMs / 1000),
          WaitTimeSeconds: Math.ceil(waitMs / 1000),
        }),
      );
      // Hidden since some moment while the call waited; a second is for the way back.
      const receivedAt = Math.max(sentAt, clock.now() - 1_000);
      const { leases } = await admit(queue, messages.map(deliveryOf), receivedAt, receivedAt + leaseMs);
      return leases.map(({ lease }) => lease);
    },
    accept: (queue, deliveries, expiresAt) => admit(queue, deliveries, clock.now() - pushedMs, expiresAt),
  };
}
