/**
 * An event of SQS: runs its messages, tells SQS when those shall come again that failed, and answers which are not
 * done. What is done Lambda deletes itself.
 */

import type { Run } from '../../../core/attempt/run.ts';
import { config } from '../../../core/base/errors.ts';
import { backendError } from '../../../core/base/failure.ts';
import type { Client } from '../../../core/enqueue/client.ts';
import { startMaintenance } from '../../../core/serverless/invocation.ts';
import { addressOfArn } from '../sqs/arns.ts';
import type { SqsBackend } from '../sqs/index.ts';
import type { Delivery } from '../sqs/message.ts';
import type { QueueAddress } from '../sqs/queues.ts';
import { type Batch, createBatch, type Item } from './batch.ts';
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

  // Two parameters and no more: a third one stands for the callback of old, which Lambda refuses. No state outside,
  // because invocations may overlap.
  return async (event, context) => {
    const startedAt = clock.now();
    const records = recordsOf(event);
    const addresses = deliveriesOf(backend, records);
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
    /** Ids of the messages that Lambda shall delete. */
    const done = new Set<string>();
    try {
      const lanes: Item[][] = [];
      for (const [address, deliveries] of addresses) {
        const accepted = await backend.accept(address, deliveries, expiresAt);
        for (const { messageId } of accepted.postponed) done.add(messageId);
        for (const { error } of accepted.failed) failed('receiving', error);
        lanes.push(...lanesOf(accepted.leases, address.fifo));
      }
      const next = lanes.values();
      const workers = Array.from({ length: Math.min(concurrency, lanes.length) }, () =>
        runLanes(next, batch, () => clock.now() < endAt, done),
      );
      await Promise.all(workers);
    } finally {
      maintenance.stop();
    }
    const open = records.filter(({ messageId }) => !done.has(messageId));
    return { batchItemFailures: open.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

async function runLanes(
  lanes: Iterable<readonly Item[]>,
  batch: Batch,
  hasTime: () => boolean,
  done: Set<string>,
): Promise<void> {
  let first = true; // what begins with the invocation may always begin: no later one would have more time for it
  for (const lane of lanes) {
    let open = true;
    for (const item of lane) {
      const mayRun = open && hasTime() && (first || batch.fits(item));
      first = false;
      const isDone = mayRun ? await batch.run(item) : await batch.release(item);
      if (isDone) done.add(item.delivery.messageId);
      else open = false; // what follows in its group has to wait for it
    }
  }
}

/** What runs one after the other: a FIFO group. Everything else is a lane of its own. */
function lanesOf(items: readonly Item[], fifo: boolean): Item[][] {
  if (!fifo) return items.map((item) => [item]);
  return [...Map.groupBy(items, ({ delivery }) => delivery.group).values()];
}

/** By queue. Throws `CONFIG` for a queue that is none of ours. */
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
