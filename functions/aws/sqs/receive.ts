/** Receive calls of a polling worker. For a function, Lambda makes them. */

import type { JobLease } from '../../../core/contract/queue.ts';
import type { Acceptor } from './accept.ts';
import { deliveryOf } from './attributes.ts';
import type { Connection } from './connection.ts';
import type { QueueAddress } from './queues.ts';

export function createReceiver({ clock, queues, addressOf, call }: Connection, { accept }: Acceptor) {
  const checks = new Map<string, Promise<void>>();

  /** Throws `CONFIG` unless the queue and its dead-letter queue exist. Asks once. */
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
    /** One receive call, at most ten leases. `waitMs` 0 = look once. */
    async receive(address: QueueAddress, max: number, leaseMs: number, waitMs: number): Promise<JobLease[]> {
      const { name: queue, url } = address;
      await check(queue); // before the first job is leased: a dead letter needs a queue to go to
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
    },
  };
}
