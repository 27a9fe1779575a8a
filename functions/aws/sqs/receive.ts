/** Receive calls of a polling worker. For a function, Lambda makes them. */

import type { ForeignJob } from '../../../core/contract/foreign.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { asJob } from '../../../core/kit/clouds/queue.ts';
import type { RefundedDeliveries } from '../../../core/kit/metadata.ts';
import type { Admin } from './admin.ts';
import type { Connection } from './connection.ts';
import { leaseFrom } from './leases.ts';
import { type Delivery, deliveryOf, tagsOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { Settler } from './settle.ts';

export function createReceiver(connection: Connection, { accept }: Acceptor, admin: () => Promise<Admin>) {
  const { clock, call } = connection;
  const checks = new Map<string, Promise<unknown>>();

  /** Checks a queue once. */
  function check(queue: string): Promise<unknown> {
    const known = checks.get(queue);
    if (known) return known;
    const begun = admin().then((it) => it.checkQueue(queue));
    checks.set(queue, begun);
    begun.catch(() => checks.delete(queue));
    return begun;
  }

  /** One receive call, at most ten leases. `waitMs` 0 = do not wait. */
  async function ask(
    address: QueueAddress,
    max: number,
    leaseMs: number,
    waitMs: number,
  ): Promise<JobLease[]> {
    const { name: queue, url } = address;
    const sentAt = clock.now();
    const messages = await call(`receiving from queue "${queue}"`, (api) =>
      api.receive({
        QueueUrl: url,
        MaxNumberOfMessages: max,
        VisibilityTimeout: Math.ceil(leaseMs / 1000),
        WaitTimeSeconds: Math.ceil(waitMs / 1000),
      }),
    );
    // SQS hid the messages at some time during the call. One second is allowed for the answer's way back.
    const receivedAt = Math.max(sentAt, clock.now() - 1_000);
    const { leases } = await accept(address, messages.map(deliveryOf), receivedAt + leaseMs, receivedAt);
    return leases.map(({ lease }) => lease);
  }

  /**
   * One lease per group. A call for more would get several messages of one group: they could only wait for the first, and their deliveries would
   * count. While every call finds a free group, the number of calls doubles.
   */
  async function askPerGroup(address: QueueAddress, max: number, leaseMs: number, waitMs: number) {
    const leases = await ask(address, 1, leaseMs, waitMs);
    for (let asked = 1; leases.length === asked && asked < max; ) {
      const calls = Math.min(2 * asked, max - asked);
      asked += calls;
      const answers = Array.from({ length: calls }, () => ask(address, 1, leaseMs, 0));
      for (const answer of await Promise.allSettled(answers)) {
        if (answer.status === 'fulfilled') leases.push(...answer.value);
      }
    }
    return leases;
  }

  return {
    /** At most ten leases, in the order of their group. `waitMs` 0 = do not wait. */
    async receive(address: QueueAddress, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]> {
      await check(address.name); // before the first lease: a dead letter needs a queue
      return (address.fifo ? askPerGroup : ask)(address, max, leaseMs, waitMs);
    },
  };
}

export interface Accepted {
  /** Messages that may run, with their deliveries. */
  readonly leases: readonly { readonly delivery: Delivery; readonly lease: JobLease }[];
  /** Delivered too early: a copy was sent, and the delivered message is deleted. */
  readonly postponed: readonly Delivery[];
  /** A store or SQS failed. These messages are delivered again. */
  readonly failed: readonly { readonly delivery: Delivery; readonly error: unknown }[];
}

export type Acceptor = ReturnType<typeof createAcceptor>;

/** Lambda does not report when it received a message. It calls the function within an hour. */
const longestInLambdaMs = 3_600_000;

/** @param refunds `null` if no queue is FIFO */
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
          const { messageId, sentAt } = received;
          if (rule)
            delivery = await asJob(rule, received, { queue: name, messageId, sentAt }, attributesOfJob);
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

const attributesOfJob = ({ id, job }: ForeignJob) => ({
  attributes: { 'longshore.id': id, 'longshore.job': job },
});
