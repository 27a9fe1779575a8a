/**
 * Handles an event of SQS: runs its messages, sets the delay of failed ones in the queue, and returns the messages that are not done. Lambda
 * deletes the others.
 */

import { steadyNow } from '../../../core/base/clock.ts';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import { backendError } from '../../../core/base/failure.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { type Collector, collectorOf } from '../../../core/features/metrics/collector.ts';
import type { AttemptPorts } from '../../../core/kernel/attempt/attempt.ts';
import { hooksEnded } from '../../../core/kernel/attempt/failure-hooks.ts';
import { endsWritten } from '../../../core/kernel/attempt/late-ends.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { startMaintenance } from '../../../core/serverless/invocation.ts';
import type { SqsBackend } from '../sqs/index.ts';
import { receiptOf } from '../sqs/leases.ts';
import { type Delivery, tagsOf } from '../sqs/message.ts';
import { addressOfArn, type QueueAddress } from '../sqs/queues.ts';
import type { Accepted } from '../sqs/receive.ts';
import {
  deliveryOf,
  type LambdaContext,
  recordsOf,
  type SqsEvent,
  type SqsRecord,
  type Worker,
  type WorkerOptions,
} from './events.ts';
import { createGathering } from './gather.ts';

/** How many messages are released at once: eight requests of ten. */
const releasedAtOnce = 80;
/** This part of `marginMs` is reserved for the answer. Messages not settled by then are reported as not done. */
const answerPart = 1 / 4;

export function createWorker(
  client: Client,
  backend: SqsBackend,
  { store, ...options }: WorkerOptions & { readonly store: Partial<Stores> & { load?(): Promise<unknown> } },
): Worker {
  const { concurrency = 10, marginMs = 2_000, visibilityMs } = options;
  const { clock, events } = client.app;
  const numbers = collectorOf(client, { source: client.app.newId(), rssBytes: process.memoryUsage.rss });
  /** Loads the store's SDK: without it jobs would run unrecorded. */
  const load = onDemand(async () => store.load?.());
  /** Set when no invocation can do its work in this process: the reason. */
  let broken: Error | null = null;

  /**
   * The SDK of SQS is loaded when the first job does not succeed. If it cannot be loaded, no such job can be settled, so no further job is
   * started.
   */
  async function settlingFailed(error: unknown): Promise<void> {
    failed('settling', error);
    if (error instanceof LongshoreError && error.code === 'CONFIG')
      await backend.load().catch((why) => (broken = why));
  }

  function failed(during: string, error: unknown): void {
    events.emit({
      type: 'backend.failed',
      backend: backend.name,
      during,
      error: backendError(during, error),
    });
  }

  // Exactly two parameters: Lambda refuses a handler with a third one, the old callback. Keep no state outside the call, because invocations
  // may overlap.
  return async (event, context) => {
    if (broken) throw broken;
    const startedAt = clock.now();
    const records = recordsOf(event);
    if (!records) throw notOfSqs(event);
    const received = deliveriesOf(backend, records);
    const deadlineAt = startedAt + remainingMs(context, marginMs);
    const endAt = deadlineAt - marginMs;
    const answerAt = deadlineAt - marginMs * answerPart;
    const expiresAt = visibilityMs === undefined ? deadlineAt : startedAt + visibilityMs;
    const running = new Set<Run>();
    const batch = createBatch({
      client,
      backend,
      startedAt,
      endAt,
      running,
      numbers,
      failed,
      settlingFailed,
    });
    const maintenance = startMaintenance({
      client,
      settler: backend,
      running,
      endAt,
      leaseMs: visibilityMs ?? null,
      failed,
    });
    /** Ids of the messages that Lambda may delete. */
    const done = new Set<string>();
    /** Messages to be released to the queue together. */
    let waiting: Item[] = [];

    async function releaseWaiting(): Promise<void> {
      const items = waiting;
      waiting = [];
      for (let from = 0; from < items.length && clock.now() < answerAt; from += releasedAtOnce) {
        const released = await batch.release(items.slice(from, from + releasedAtOnce));
        for (const { delivery } of released) done.add(delivery.messageId);
      }
    }

    /** Keeps only the first message of the group that has a suspect; all others are released before it runs. */
    async function runAlone(groups: Item[][]): Promise<void> {
      const [suspect] = await suspectsAmong(client, groups.flat());
      const alone = groups.find((group) => group.includes(suspect!))?.[0];
      if (!alone) return;
      waiting.push(...groups.flat().filter((item) => item !== alone));
      groups.splice(0, groups.length, [alone]);
      await releaseWaiting();
    }

    async function work(): Promise<void> {
      const loading = received.size > 0 ? load() : null;
      loading?.catch(() => {}); // awaited below
      const groups: Item[][] = [];
      for (const [address, deliveries] of received) {
        const accepted = await backend.accept(address, deliveries, expiresAt);
        for (const { messageId } of accepted.postponed) done.add(messageId);
        for (const { error } of accepted.failed) failed('receiving', error);
        groups.push(...groupsOf(accepted.leases, address.fifo));
      }
      await loading;
      if (groups.some((group) => group.some(({ lease }) => receiptOf(lease).suspect))) await runAlone(groups);
      await forEach(
        groups.entries(),
        async ([i, group]) => {
          // The first jobs of an invocation always run: no later invocation would have more time for them.
          let isFirst = i < concurrency;
          const rest = [...group];
          while (rest.length > 0 && clock.now() < endAt && (isFirst || batch.fits(rest[0]!))) {
            if (waiting.length > 0) await releaseWaiting();
            isFirst = false;
            const item = rest.shift()!;
            if (!(await batch.run(item))) break; // the rest of its group must wait for it
            done.add(item.delivery.messageId);
          }
          waiting.push(...rest);
          // Release a FIFO group at once: it is locked until all its messages are back.
          const isLast = i === groups.length - 1;
          if (isLast || group.length > 1 || waiting.length >= releasedAtOnce) await releaseWaiting();
        },
        concurrency,
      );
    }

    let stopWaiting = () => {};
    const tooLate = new Promise<void>((resolve) => {
      stopWaiting = clock.after(answerAt - clock.now(), () => {
        failed('settling', new Error('The function has to answer before all is settled.'));
        resolve();
      });
    });
    try {
      await Promise.race([work(), tooLate]);
    } finally {
      stopWaiting();
      maintenance.stop();
    }
    if (broken && done.size === 0) throw broken;
    // Lambda freezes unfinished work.
    const leftMs = answerAt - clock.now();
    const ends = endsWritten(client, leftMs);
    await Promise.all([numbers?.flushWhenDue(leftMs), hooksEnded(client.app, leftMs), ends]);
    const open = records.filter(({ messageId }) => !done.has(messageId));
    return { batchItemFailures: open.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

/** Throws `CONFIG` if the function leaves its jobs no time. */
function remainingMs(context: LambdaContext, marginMs: number): number {
  const ms: unknown = context?.getRemainingTimeInMillis?.();
  if (typeof ms === 'number' && ms > marginMs) return ms;
  throw noTime(ms, marginMs);
}

/** Items of a FIFO group run one after the other. On other queues each item is its own group. */
function groupsOf(items: readonly Item[], fifo: boolean): Item[][] {
  if (!fifo) return items.map((item) => [item]);
  return [...Map.groupBy(items, ({ delivery }) => delivery.group).values()];
}

/** The deliveries by queue. Throws `CONFIG` for a queue that `sqs()` was not given. */
function deliveriesOf({ queues }: SqsBackend, records: readonly SqsRecord[]) {
  const deliveries = new Map<QueueAddress, Delivery[]>();
  for (const [arn, group] of Map.groupBy(records, ({ eventSourceARN }) => eventSourceARN)) {
    const address = addressOfArn(queues, arn);
    if (!address) throw notOurs(arn);
    deliveries.set(address, [...(deliveries.get(address) ?? []), ...group.map(deliveryOf)]);
  }
  return deliveries;
}

/**
 * Finds messages that may have ended their process at the last run (out of memory, `process.exit`), or used up its time. After such a crash
 * Lambda delivers all messages of the event again, at the same time and with one attempt less, so one bad job would kill healthy ones. So a
 * message that was delivered before, without a recorded end, runs alone.
 */
async function suspectsAmong(client: Client, items: readonly Item[]): Promise<Item[]> {
  const found = await Promise.all(
    items.map(async (item) => receiptOf(item.lease).suspect === true && !(await isExcused(client, item))),
  );
  return items.filter((_, i) => found[i]);
}

/** Whether the record shows that the previous attempt has ended, or that none has begun. An unknown job is a suspect. */
async function isExcused({ stores }: Client, { lease }: Item): Promise<boolean> {
  const record = await stores.records.get(receiptOf(lease).id).catch(() => null);
  return record !== null && record.status !== 'processing';
}

function notOfSqs(event: unknown): LongshoreError {
  const { Records: records } = (event ?? {}) as Partial<SqsEvent>;
  const source = Array.isArray(records) ? `records from ${shown(records[0]?.eventSource)}` : shown(event);
  return config(
    `Expected an event of SQS, got ${source}. Give this function an SQS queue as its event source.`,
  );
}

function notOurs(arn: string): LongshoreError {
  return config(
    `Expected messages of a queue that sqs() was given, got some of ${arn}. Add its URL to queues.`,
  );
}

/** The error for a function that leaves its jobs no time: its messages would be delivered again and again. */
function noTime(got: unknown, marginMs: number): LongshoreError {
  return config(
    `Expected Lambda's context to leave more time than marginMs (${marginMs}), got ${shown(got)}. Give the function a longer timeout, lambda() a smaller marginMs, and the worker both parameters.`,
  );
}

export type Item = Accepted['leases'][number];

interface BatchPorts {
  readonly client: Client;
  readonly backend: SqsBackend;
  readonly startedAt: number;
  /** Jobs must have ended by then (epoch ms). */
  readonly endAt: number;
  readonly running: Set<Run>;
  /** `null` if the store keeps no metrics. */
  readonly numbers: Collector | null;
  failed(during: string, error: unknown): void;
  settlingFailed(error: unknown): Promise<void>;
}

export function createBatch({
  client,
  backend,
  startedAt,
  endAt,
  running,
  numbers,
  failed,
  settlingFailed,
}: BatchPorts) {
  const { app } = client;
  const { clock } = app;
  const { env } = process;
  // Each instance of a function has a log stream of its own.
  const by = {
    worker: env.AWS_LAMBDA_FUNCTION_NAME ?? 'lambda',
    host: env.AWS_LAMBDA_LOG_STREAM_NAME ?? 'unknown',
  };
  const halfMs = (endAt - startedAt) / 2;
  const gathering = createGathering(running, clock);
  /** A released message of a standard queue is replaced by a copy, so Lambda may delete it. On a FIFO queue it stays. */
  const isReplaced = (item: Item, countAttempt: boolean): boolean =>
    !countAttempt && !backend.queues.of(item.lease.queue).fifo;

  return {
    /** Whether the job's timeout fits in the time left. A longer job needs half of the function's time. */
    fits({ delivery }: Item): boolean {
      const timeoutMs = app.jobs.get(tagsOf(delivery).job)?.timeoutMs ?? 0;
      return clock.now() + Math.min(timeoutMs, halfMs) <= endAt;
    },

    /** `true` = Lambda may delete the message. */
    async run(item: Item): Promise<boolean> {
      const { lease } = item;
      const run = createRun(lease, clock);
      let replaced = false;
      const settler: AttemptPorts['settler'] = {
        // Lambda deletes the message once the function has answered.
        ack: async (acks) => acks.map(() => run.expiresAt > steadyNow(clock)),
        async nack(_, how) {
          replaced = isReplaced(item, how.countAttempt);
          await gathering.wait();
          return backend.nack(lease, how);
        },
        abandon: backend.abandon,
      };
      running.add(run);
      try {
        const bytes = numbers?.sample() ?? null;
        const result = await attempt(app, { client, by, settler }, run);
        numbers?.count(lease.queue, result, bytes);
        const { settled, outcome } = result;
        return settled && (outcome !== 'requeued' || replaced);
      } catch (error) {
        await settlingFailed(error);
        return false;
      } finally {
        running.delete(run);
        gathering.look();
      }
    },

    /** Releases messages to the queue without counting attempts. Resolves with those that Lambda may delete. */
    async release(items: readonly Item[]): Promise<Item[]> {
      try {
        const settled = await backend.release(items.map(({ lease }) => lease));
        return items.filter((item, i) => settled[i] && isReplaced(item, false));
      } catch (error) {
        failed('releasing', error);
        return [];
      }
    },
  };
}
