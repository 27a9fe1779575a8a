/** From deliveries to leases, whoever has received them. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Connection } from './connection.ts';
import { leaseFrom } from './leases.ts';
import type { Locks } from './locks.ts';
import { type Delivery, deliveryOf } from './message.ts';
import type { Moves } from './moves.ts';
import type { QueueAddress } from './queues.ts';
import type { Settling } from './settling.ts';

export interface Receiving {
  /** One receive call. `waitMs` 0 = look once. */
  receive(address: QueueAddress, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]>;
  /** A message that a host holds. `null` = it was given back before, and is done. */
  accept(queue: string, delivery: Delivery, expiresAt: number): Promise<JobLease | null>;
}

export function createReceiving(
  connection: Connection,
  locks: Locks,
  settling: Settling,
  moves: Moves | null,
): Receiving {
  const { clock, addressOf, call } = connection;

  async function accept(queue: string, delivery: Delivery, expiresAt: number): Promise<JobLease | null> {
    const { tags, body, lockToken, deliveryCount } = delivery;
    const begun =
      deliveryCount > 1 ? await moves?.recall(addressOf(queue).entity, tags, lockToken) : undefined;
    if (!begun) return leaseFrom(delivery, queue, expiresAt);
    await settling.repeat(queue, body, tags, begun);
    return null;
  }

  return {
    accept,
    async receive({ name: queue, entity: name }, max, leaseMs, waitMs) {
      const entity = { name };
      const messages = await call(`receiving from queue "${queue}"`, (api) =>
        api.receive(entity, max, waitMs),
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
          // A store that cannot be asked, or a broker that cannot be told: the message comes back when its lock ends.
        }
      }
      return leases;
    },
  };
}
