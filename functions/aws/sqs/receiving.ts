/** Receive calls: what a polling worker makes, and Lambda makes itself. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Accepting } from './accepting.ts';
import { deliveryOf } from './attributes.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';

export interface Receiving {
  /** One receive call, at most ten leases. `waitMs` 0 = look once. */
  receive(address: QueueAddress, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]>;
  /** Throws `CONFIG` unless the queue and its dead-letter queue exist. Asks once. */
  check(queue: string): Promise<void>;
}

export function createReceiving(
  { clock, queues, addressOf, call }: Connection,
  { admit }: Accepting,
): Receiving {
  const checks = new Map<string, Promise<void>>();

  function check(queue: string): Promise<void> {
    const known = checks.get(queue);
    if (known) return known;
    const { deadLetterUrl } = addressOf(queue);
    const begun = (async () => {
      for (const { url } of queues.lanesOf(queue)) {
        await call(`looking for queue "${queue}" at ${url}`, (api) => api.attributes(url, ['QueueArn']));
      }
      await call(`looking for the dead-letter queue of "${queue}" at ${deadLetterUrl}`, (api) =>
        api.attributes(deadLetterUrl, ['QueueArn']),
      );
    })();
    checks.set(queue, begun);
    begun.catch(() => checks.delete(queue));
    return begun;
  }

  return {
    check,
    async receive(address, max, leaseMs, waitMs) {
      const { name: queue, url } = address;
      await check(queue); // before the first job is taken: a job that dies must have a address to go
      const sentAt = clock.now();
      const messages = await call(`receiving from queue "${queue}"`, (api) =>
        api.receive({
          QueueUrl: url,
          MaxNumberOfMessages: max,
          VisibilityTimeout: Math.ceil(leaseMs / 1000),
          WaitTimeSeconds: Math.ceil(waitMs / 1000),
        }),
      );
      // Hidden since some moment while the call waited; a second is for the way back.
      const receivedAt = Math.max(sentAt, clock.now() - 1_000);
      const { leases } = await admit(address, messages.map(deliveryOf), receivedAt, receivedAt + leaseMs);
      return leases.map(({ lease }) => lease);
    },
  };
}
