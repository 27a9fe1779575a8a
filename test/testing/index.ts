/**
 * `longshore/testing`: runs an app on a queue in memory with a virtual clock, so that two days of retries take milliseconds in a test.
 * Also has the law suites for authors of backends.
 */

import { checkOptions } from '../../core/base/checks.ts';
import { systemClock } from '../../core/base/clock.ts';
import { millis } from '../../core/base/duration.ts';
import type { DeadLetter } from '../../core/contract/admin.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { JobRecord } from '../../core/contract/store.ts';
import { keyRing } from '../../core/envelope/signing.ts';
import { lookAtBatches } from '../../core/features/batches/look.ts';
import { tick } from '../../core/features/schedules/feature.ts';
import { createApp } from '../../core/features/table.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { Job } from '../../core/kernel/app/job.ts';
import type { EnqueuedJob, EnqueueOptions } from '../../core/kernel/app/options.ts';
import type { AttemptResult } from '../../core/kernel/attempt/attempt.ts';
import { hooksEnded } from '../../core/kernel/attempt/failure-hooks.ts';
import { createRun } from '../../core/kernel/attempt/run.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
// Otherwise it is loaded on demand, in a time that the virtual clock does not know.
import '../../core/kernel/enqueue/door.ts';
import { attempt } from '../../core/kernel/flow.ts';
import { connect } from '../../core/routing/connect.ts';
import { memory } from '../../local/backends/memory/index.ts';
import { nextMoment } from './next-moment.ts';
import { type BeginTransaction, withTransactions } from './transactions.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export type { AttemptResult } from '../../core/kernel/attempt/attempt.ts';
export { exampleBackend } from './example-backend.ts';
export { type ExampleStoreOptions, exampleStore } from './example-store.ts';
export { describeBackend } from './laws/backend.ts';
export { describeEntrypoint } from './laws/entrypoint.ts';
export type { Bench, Harness, Runner } from './laws/harness.ts';
export { describePayloads, type PayloadsBench, type PayloadsHarness } from './laws/payload-store.ts';
export { describeStore, describeStoreAlone } from './laws/store.ts';
export { describeTexts } from './laws/texts.ts';
export type { BeginTransaction, TestTransaction } from './transactions.ts';
export { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export interface TestApp {
  /** The app with a virtual clock, fixed random numbers, counted ids and a test key. */
  readonly app: App;
  readonly client: Client;
  readonly backend: QueueBackend;
  readonly clock: VirtualClock;
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** Like `client.emit()`. */
  emit: Client['emit'];
  /** Like `client.batch()`. */
  readonly batch: Client['batch'];
  readonly batches: Client['batches'];
  /** Like `client.chain()`. */
  readonly chain: Client['chain'];
  readonly chains: Client['chains'];
  readonly schedules: Client['schedules'];
  /** Moves time forward: a number of ms, or a text like `90s`, `15m`, `2h`, `2d`. Does not run jobs. */
  advance(time: number | string): void;
  /** Runs all ready jobs, one at a time, and the jobs that they enqueue. Returns the outcomes in order, after `onError` and `onDeadLetter`. */
  drain(): Promise<AttemptResult[]>;
  /** Enqueues the jobs of all due schedules, and checks batches that make no progress. Returns the ids of the jobs. */
  tick(): Promise<string[]>;
  /**
   * Moves time forward like a running worker: stops whenever a job or a schedule is due, and calls `tick()` and `drain()` there. Returns the
   * outcomes in order.
   */
  runFor(time: number | string): Promise<AttemptResult[]>;
  status(id: string): Promise<JobRecord | null>;
  deadLetters(): Promise<DeadLetter[]>;
}

export interface TestAppOptions {
  /** Begins a transaction for a handler (`transaction: true`) or a step. @default handlers run, but queries on `tx` fail */
  readonly transaction?: BeginTransaction;
}

export function testApp(app: App, options: TestAppOptions = {}): TestApp {
  checkOptions('testApp()', options, { transaction: 'function' });
  const clock = createVirtualClock();
  let ids = 0;
  const ring = keyRing([{ kid: 'test', secret: new Uint8Array(32).fill(7) }]);
  const own: App = {
    ...app,
    clock,
    random: () => 0.5,
    newId: () => `job-${String(++ids).padStart(4, '0')}`,
    keyRing: () => ring,
  };
  const backend = withTransactions(memory({ clock }), options.transaction);
  const client = connect(own, backend);
  // As long as a job may run: leases are not renewed here, and time moves only between attempts.
  const leaseMs = Math.max(60_000, ...[...app.jobs.values()].map((job) => job.timeoutMs + 1));
  async function drain(): Promise<AttemptResult[]> {
    const results: AttemptResult[] = [];
    for (;;) {
      const stats = await backend.admin!.stats();
      const queues = stats.map(({ queue }) => queue);
      for (const queue of queues) await backend.reapExpired(queue);
      const [lease] = await backend.fetch({ queues, max: 1, leaseMs, waitMs: 0 });
      if (!lease) {
        await hooksEnded({ ...own, clock: systemClock }); // in real time, because the virtual clock does not move meanwhile
        return results;
      }
      results.push(await attempt(own, { client, settler: backend }, createRun(lease)));
    }
  }

  async function tickNow(): Promise<string[]> {
    const ids = await tick(own, client);
    await lookAtBatches(client);
    return ids;
  }

  async function runUntil(end: number): Promise<AttemptResult[]> {
    const results: AttemptResult[] = [];
    for (;;) {
      await tickNow();
      results.push(...(await drain()));
      const now = clock.now();
      if (now >= end) return results;
      const next = (await nextMoment(client, backend, now)) ?? end;
      clock.advance(Math.min(next, end) - now);
      // Lets what the timers of the test have begun reach the queue, before the next jobs are looked for.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  return {
    app: own,
    client,
    backend,
    clock,
    enqueue: (job, payload, options) => client.enqueue(job, payload, options),
    emit: (event, payload, options) => client.emit(event, payload, options),
    batch: client.batch,
    batches: client.batches,
    chain: client.chain,
    chains: client.chains,
    schedules: client.schedules,
    advance: (time) => clock.advance(millis('the time of advance()', time)),
    drain,
    tick: tickNow,
    runFor: (time) => runUntil(clock.now() + millis('the time of runFor()', time)),
    status: (id) => client.status(id),
    deadLetters: () => backend.admin!.deadLetters.list({}),
  };
}

/** A test app with only these jobs. */
export function testJobs(...jobs: readonly Job[]): TestApp {
  return testApp(createApp({ jobs }));
}
