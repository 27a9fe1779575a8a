/** Runs or releases the messages of one Lambda event. */

import { steadyNow } from '../../../core/base/clock.ts';
import type { Collector } from '../../../core/features/metrics/collector.ts';
import type { AttemptPorts } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import type { Accepted } from '../sqs/accept.ts';
import type { SqsBackend } from '../sqs/index.ts';
import { tagsOf } from '../sqs/message.ts';

export type Item = Accepted['leases'][number];

export interface BatchPorts {
  readonly client: Client;
  readonly backend: SqsBackend;
  readonly startedAt: number;
  /** Jobs must have ended by then (epoch ms). */
  readonly endAt: number;
  readonly running: Set<Run>;
  /** `null` where no numbers are kept. */
  numbers(): Collector | null;
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
  /** A released message of a standard queue is replaced by a copy, so it may be deleted. On a FIFO queue it stays. */
  const isReplaced = (item: Item, countAttempt: boolean): boolean =>
    !countAttempt && !backend.queues.of(item.lease.queue).fifo;

  return {
    /** Whether its own timeout fits in the time left. A job that may run longer needs half of the function's time. */
    fits({ delivery }: Item): boolean {
      const timeoutMs = app.jobs.get(tagsOf(delivery).job)?.timeoutMs ?? 0;
      return clock.now() + Math.min(timeoutMs, halfMs) <= endAt;
    },

    /** `true`: Lambda may delete the message. */
    async run(item: Item): Promise<boolean> {
      const { lease } = item;
      const run = createRun(lease, clock);
      let replaced = false;
      const settler: AttemptPorts['settler'] = {
        // Lambda itself deletes the message, once the function has answered.
        ack: async (acks) => acks.map(() => run.expiresAt > steadyNow(clock)),
        nack(_, how) {
          replaced = isReplaced(item, how.countAttempt);
          return backend.nack(lease, how);
        },
        abandon: backend.abandon,
      };
      running.add(run);
      try {
        const bytes = numbers()?.sample() ?? null;
        const result = await attempt(app, { client, by, settler }, run);
        numbers()?.count(lease.queue, result, bytes);
        const { settled, outcome } = result;
        return settled && (outcome !== 'requeued' || replaced);
      } catch (error) {
        await settlingFailed(error);
        return false;
      } finally {
        running.delete(run);
      }
    },

    /** Back to the queue; the attempts do not count. Resolves with those that Lambda may delete. */
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
