/** Makes leases of deliveries, received here or by a host. */

import type { Foreign } from '../../../core/app/foreign.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import type { RefundedDeliveries } from '../../../core/kit/metadata.ts';
import type { Connection } from './connection.ts';
import { type IntentLog, keyIn } from './intent-log.ts';
import type { LastDeliveries } from './last-deliveries.ts';
import { leaseFrom } from './leases.ts';
import type { Locks } from './locks.ts';
import { type Delivery, deliveryOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { Settlers } from './settle.ts';

export type Receiver = ReturnType<typeof createReceiver>;

export function createReceiver(
  connection: Connection,
  locks: Locks,
  repeat: Settlers['repeat'],
  intents: IntentLog | null,
  refunds: RefundedDeliveries | null,
  deliveries: LastDeliveries | null,
) {
  const { clock, addressOf, call, foreign } = connection;

  /** `null` = the message was replaced by its copy before, and is done. */
  async function accept(
    queue: string,
    given: Delivery,
    expiresAt: number,
    isOfHost = false,
  ): Promise<JobLease | null> {
    const rule = foreign[queue];
    const delivery = rule ? await asJob(rule, queue, given) : given;
    const { tags, body, deliveryCount } = delivery;
    const { entity, sessions } = addressOf(queue);
    if (isOfHost && sessions) await deliveries?.begin(entity, tags, delivery.lockToken);
    const begun = deliveryCount > 1 ? await intents?.read(entity, tags) : null;
    if (!begun) {
      const counts = sessions && deliveryCount > 1 ? refunds : null;
      return leaseFrom(delivery, queue, expiresAt, await counts?.of(keyIn(entity, tags)));
    }
    await repeat(queue, body, tags, begun);
    return null;
  }

  return {
    accept: (queue: string, given: Delivery, expiresAt: number) => accept(queue, given, expiresAt, true),
    /** One receive call. `waitMs` 0 = look once. */
    async receive(
      { name: queue, entity: name, sessions }: QueueAddress,
      max: number,
      leaseMs: number,
      waitMs: number,
    ): Promise<JobLease[]> {
      const entity = { name };
      const messages = await call(`receiving from queue "${queue}"`, (api) =>
        sessions ? api.receiveOfSessions(name, max, waitMs) : api.receive(entity, max, waitMs),
      );
      const leases: JobLease[] = [];
      for (const message of messages) {
        try {
          const lease = await accept(queue, deliveryOf(message), clock.now() + leaseMs);
          if (lease) {
            locks.hold(lease, message, message.lockedUntilUtc?.getTime() ?? lease.expiresAt);
            leases.push(lease);
          } else {
            await (await connection.api()).complete(entity, message);
          }
        } catch {
          // The store or the broker failed: the message comes back when its lock ends.
        }
      }
      return leases;
    },
  };
}

/** A message of another program that the queue's rule takes, as the job it stands for. */
async function asJob(rule: Foreign, queue: string, delivery: Delivery): Promise<Delivery> {
  const { body, tags, enqueuedAt: sentAt } = delivery;
  const made = await rule({ queue, messageId: tags.id, body, sentAt });
  if (!made) return delivery;
  if (made instanceof LongshoreError) return { ...delivery, refusal: made.message };
  const { id, job } = made;
  return { ...delivery, body: made.body, tags: { ...tags, id, job, series: id } };
}
