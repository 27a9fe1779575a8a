/** Makes leases of deliveries, of a receive call or of a Lambda event. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { Foreign } from '../../../core/contract/foreign.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { RefundedDeliveries } from '../../../core/kit/metadata.ts';
import type { Connection } from './connection.ts';
import { leaseFrom } from './leases.ts';
import { type Delivery, tagsOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { Settler } from './settle.ts';

export interface Accepted {
  /** Messages that may run, beside their deliveries. */
  readonly leases: readonly { readonly delivery: Delivery; readonly lease: JobLease }[];
  /** Delivered too early: a copy was sent on, and the delivered message is deleted. */
  readonly postponed: readonly Delivery[];
  /** A store or SQS failed. These messages come back by themselves. */
  readonly failed: readonly { readonly delivery: Delivery; readonly error: unknown }[];
}

export type Acceptor = ReturnType<typeof createAcceptor>;

/** Lambda does not say when it received a message. It calls the function within an hour. */
const longestInLambdaMs = 3_600_000;

/** @param refunds `null` where no queue is FIFO */
export function createAcceptor(
  { clock, foreign }: Connection,
  sendOn: Settler['sendOn'],
  refunds: RefundedDeliveries | null,
) {
  return {
    /** @param receivedAt when the messages were received; without it, the earliest that Lambda may have received them */
    async accept(
      address: QueueAddress,
      deliveries: readonly Delivery[],
      expiresAt: number,
      receivedAt = clock.now() - longestInLambdaMs,
    ): Promise<Accepted> {
      const { fifo, name } = address;
      const rule = foreign[name];
      const leases: { delivery: Delivery; lease: JobLease }[] = [];
      const early: { delivery: Delivery; lease: JobLease; notBefore: number }[] = [];
      const failed: { delivery: Delivery; error: unknown }[] = [];
      for (const received of deliveries) {
        let delivery = received;
        try {
          if (rule) delivery = await asJob(rule, name, received);
          const counts = fifo && delivery.receiveCount > 1 ? refunds : null;
          const refunded = (await counts?.of(delivery.messageId)) ?? 0;
          const lease = leaseFrom(delivery, { address, receivedAt, expiresAt, refunded });
          const { notBefore } = tagsOf(delivery);
          if (fifo || notBefore === null || notBefore <= clock.now()) leases.push({ delivery, lease });
          else early.push({ delivery, lease, notBefore });
        } catch (error) {
          failed.push({ delivery, error });
        }
      }
      if (early.length === 0) return { leases, postponed: [], failed };
      try {
        const sent = await sendOn(
          early.map(({ lease, notBefore }) => ({ lease, notBefore, attempts: lease.attempt - 1 })),
        );
        const postponed = early.filter((_, i) => sent[i]).map(({ delivery }) => delivery);
        return { leases, postponed, failed };
      } catch (error) {
        return {
          leases,
          postponed: [],
          failed: [...failed, ...early.map(({ delivery }) => ({ delivery, error }))],
        };
      }
    },
  };
}

/** A message of another program that the queue's rule takes, as the job it stands for. */
async function asJob(rule: Foreign, queue: string, delivery: Delivery): Promise<Delivery> {
  const { messageId, body, sentAt } = delivery;
  const made = await rule({ queue, messageId, body, sentAt });
  if (!made) return delivery;
  if (made instanceof LongshoreError) return { ...delivery, refusal: made.message };
  return { ...delivery, body: made.body, attributes: { 'longshore.id': made.id, 'longshore.job': made.job } };
}
