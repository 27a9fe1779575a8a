/** Makes leases from deliveries, received here or by a host. */

import type { ForeignJob } from '../../../core/contract/foreign.ts';
import type { JobLease } from '../../../core/contract/queue.ts';
import { asJob } from '../../../core/kit/clouds/queue.ts';
import type { ReceivedMessage } from './api.ts';
import type { Connection } from './connection.ts';
import { serviceBusError } from './errors.ts';
import { type Locks, leaseFrom } from './locks.ts';
import { type Delivery, deliveryOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import type { Settlers } from './settle.ts';

export type Receiver = ReturnType<typeof createReceiver>;

export function createReceiver(connection: Connection, locks: Locks, repeat: Settlers['repeat']) {
  const { clock, addressOf, call, foreign, metadata } = connection;

  /** `null` = the message had been replaced by its copy, and is done. */
  async function accept(queue: string, given: Delivery, expiresAt: number): Promise<JobLease | null> {
    const rule = foreign[queue];
    const from = { queue, messageId: given.tags.id, sentAt: given.enqueuedAt };
    const tagsOfJob = ({ id, job }: ForeignJob) => ({ tags: { ...given.tags, id, job, series: id } });
    const delivery = rule ? await asJob(rule, given, from, tagsOfJob) : given;
    const { tags, body, lockToken, deliveryCount } = delivery;
    const { entity, sessions } = addressOf(queue);
    const counted =
      sessions && metadata ? await metadata.beginnings.begin(entity, tags, lockToken) : deliveryCount;
    const begun = Math.max(counted, deliveryCount) > 1 ? await metadata?.intents.read(entity, tags) : null;
    if (!begun) return leaseFrom(delivery, queue, expiresAt, counted);
    await repeat(queue, body, tags, begun);
    return null;
  }

  async function leaseOf(queue: string, message: ReceivedMessage, leaseMs: number): Promise<JobLease | null> {
    const { entity } = addressOf(queue);
    const lease = await accept(queue, deliveryOf(message), clock.now() + leaseMs);
    if (lease) locks.hold(lease, message, message.lockedUntilUtc?.getTime() ?? lease.expiresAt);
    else await (await connection.api()).complete({ name: entity }, message);
    return lease;
  }

  return {
    accept,
    /** One receive call. `waitMs` 0 = do not wait. Rejects if every delivery failed to be recorded or repeated. */
    async receive(
      { name: queue, entity: name, sessions }: QueueAddress,
      max: number,
      leaseMs: number,
      waitMs: number,
    ): Promise<JobLease[]> {
      const during = `receiving from queue "${queue}"`;
      const messages = await call(during, (api) =>
        sessions ? api.receiveOfSessions(name, max, waitMs) : api.receive({ name }, max, waitMs),
      );
      const results = await Promise.allSettled(messages.map((message) => leaseOf(queue, message, leaseMs)));
      const failed = results.flatMap((result, i) =>
        result.status === 'rejected' ? [{ reason: result.reason, message: messages[i]! }] : [],
      );
      const { letGo } = await connection.api();
      // Messages without a session come back when their locks end.
      for (const { message } of failed) letGo(message);
      if (failed.length > 0 && failed.length === messages.length)
        throw serviceBusError(during, failed[0]!.reason);
      return results.flatMap((result) =>
        result.status === 'fulfilled' && result.value ? [result.value] : [],
      );
    },
  };
}
