/**
 * Handles an event of SQS: runs its messages, gives failed ones their delay in the queue, and answers which are not done.
 * Lambda deletes the others.
 */

import type { Run } from '../../../core/attempt/run.ts';
import { config } from '../../../core/base/errors.ts';
import { backendError } from '../../../core/base/failure.ts';
import type { Client } from '../../../core/enqueue/client.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { startMaintenance } from '../../../core/serverless/invocation.ts';
import { addressOfArn } from '../sqs/arns.ts';
import type { SqsBackend } from '../sqs/index.ts';
import type { Delivery } from '../sqs/message.ts';
import type { QueueAddress } from '../sqs/queues.ts';
import { createBatch, type Item } from './batch.ts';
import { deliveryOf, recordsOf, type SqsRecord } from './events.ts';
import type { Worker, WorkerOptions } from './options.ts';

export function createWorker(client: Client, backend: SqsBackend, options: WorkerOptions): Worker {
  const { concurrency = 10, marginMs = 2_000, visibilityMs } = options;
  const { clock, events } = client.app;

  function failed(during: string, error: unknown): void {
    events.emit({
      type: 'backend.failed',
      backend: backend.name,
      during,
      error: backendError(during, error),
    });
  }

  // Exactly two parameters: Lambda takes a third one for the old callback style and refuses it. No state outside the call,
  // because invocations may overlap.
  return async (event, context) => {
    const startedAt = clock.now();
    const records = recordsOf(event);
    const received = deliveriesOf(backend, records);
    const deadlineAt = startedAt + context.getRemainingTimeInMillis();
    const endAt = Math.max(startedAt, deadlineAt - marginMs);
    const expiresAt = visibilityMs === undefined ? deadlineAt : startedAt + visibilityMs;
    const running = new Set<Run>();
    const batch = createBatch({ client, backend, startedAt, endAt, running, failed });
    const maintenance = startMaintenance({
      client,
      settler: backend,
      running,
      endAt,
      leaseMs: visibilityMs ?? null,
      failed,
    });
    /** Ids of messages that Lambda may delete. */
    const done = new Set<string>();
    try {
      const groups: Item[][] = [];
      for (const [address, deliveries] of received) {
        const accepted = await backend.accept(address, deliveries, expiresAt);
        for (const { messageId } of accepted.postponed) done.add(messageId);
        for (const { error } of accepted.failed) failed('receiving', error);
        groups.push(...groupsOf(accepted.leases, address.fifo));
      }
      const runGroup = async ([i, group]: [number, Item[]]): Promise<void> => {
        // Jobs that start with the invocation may always run: no later invocation would have more time for them.
        let isFirst = i < concurrency;
        let open = true;
        for (const item of group) {
          const mayRun = open && clock.now() < endAt && (isFirst || batch.fits(item));
          isFirst = false;
          const isDone = mayRun ? await batch.run(item) : await batch.release(item);
          if (isDone) done.add(item.delivery.messageId);
          else open = false; // the rest of its group has to wait for it
        }
      };
      await forEach(groups.entries(), runGroup, concurrency);
    } finally {
      maintenance.stop();
    }
    const open = records.filter(({ messageId }) => !done.has(messageId));
    return { batchItemFailures: open.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/** Items of a FIFO group run one after the other. On other queues each item is a group of its own. */
function groupsOf(items: readonly Item[], fifo: boolean): Item[][] {
  if (!fifo) return items.map((item) => [item]);
  return [...Map.groupBy(items, ({ delivery }) => delivery.group).values()];
}

/** By queue. Throws `CONFIG` for a queue that sqs() was not given. */
function deliveriesOf({ queues }: SqsBackend, records: readonly SqsRecord[]): Map<QueueAddress, Delivery[]> {
  const deliveries = new Map<QueueAddress, Delivery[]>();
  for (const [arn, group] of Map.groupBy(records, ({ eventSourceARN }) => eventSourceARN)) {
    const address = addressOfArn(queues, arn);
    if (!address) {
      throw config(
        `Expected messages of a queue that sqs() was given, got some of ${arn}. Add its URL to queues.`,
      );
    }
    deliveries.set(address, [...(deliveries.get(address) ?? []), ...group.map(deliveryOf)]);
  }
  return deliveries;
}
