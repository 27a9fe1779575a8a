/** Receive calls of a polling worker. For a function, Lambda makes them. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Acceptor } from './accept.ts';
import type { Admin } from './admin.ts';
import { deliveryOf } from './attributes.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';

export function createReceiver(connection: Connection, { accept }: Acceptor, admin: () => Promise<Admin>) {
  const { clock, call } = connection;
  const checks = new Map<string, Promise<unknown>>();

  /** Asks once. */
  function check(queue: string): Promise<unknown> {
    const known = checks.get(queue);
    if (known) return known;
    const begun = admin().then((it) => it.checkQueue(queue));
    checks.set(queue, begun);
    begun.catch(() => checks.delete(queue));
    return begun;
  }

  /** One receive call, at most ten leases. `waitMs` 0 = look once. */
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
    // SQS hid the messages at some moment of the call. A second is allowed for the answer's way back.
    const receivedAt = Math.max(sentAt, clock.now() - 1_000);
    const { leases } = await accept(address, messages.map(deliveryOf), receivedAt + leaseMs, receivedAt);
    return leases.map(({ lease }) => lease);
  }

  /**
   * One lease per group. A call that asks for more gets as many of one group as there are: those behind the first could only wait,
   * and their deliveries would count. While every call finds a free group, twice as many follow.
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
    /** At most ten leases, in the order of their group. `waitMs` 0 = look once. */
    async receive(address: QueueAddress, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]> {
      await check(address.name); // before the first job is leased: a dead letter needs a queue to go to
      return (address.fifo ? askPerGroup : ask)(address, max, leaseMs, waitMs);
    },
  };
}
