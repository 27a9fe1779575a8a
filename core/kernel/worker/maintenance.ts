/** What a worker does beside its jobs: reaping, heartbeats, purging, limits; and what watch-runs.ts does for them. */

import { hostname } from 'node:os';
import { lookAtBatches, lookEveryMs } from '../../features/batches/look.ts';
import { flushMs } from '../../features/metrics/collector.ts';
import type { Run } from '../attempt/run.ts';
import { scoped } from '../enqueue/backends.ts';
import { reap } from './reap.ts';
import { renewing } from './renew-leases.ts';
import type { WorkerState } from './state.ts';
import { watchRuns } from './watch-runs.ts';

const cancelPollMs = 1_000;
const heartbeatMs = 5_000;
/** In a heartbeat. */
const mostJobs = 20;
const purgeMs = 60_000;
/** Alerts are looked at soon, so that what cannot be told here is said at the start, and then once a minute. */
const firstLookMs = 1_000;
const lookMs = 60_000;
const longestReapMs = 5_000;
const rollUpMs = 600_000;
/** Growth worth a warning: this factor over the first reading, and at least this much in bytes. */
const growthFactor = 2;
const growthBytes = 100 * 1024 * 1024;

export function startMaintenance(state: WorkerState): { stop(): void } {
  const { app, settings, client, running } = state;
  const { backend, leaseMs } = settings;
  const { records, workers } = client.stores;
  const { clock, events } = app;
  let baselineBytes = 0;

  function lose(run: Run): void {
    state.buffer = state.buffer.filter((other) => other !== run);
    state.lost(run);
    if (running.has(run)) run.end('lease-lost');
  }

  const unlisten = backend.hints?.onLost?.((tokens) => {
    for (const run of [...running, ...state.buffer]) if (tokens.has(run.lease.token)) lose(run);
  });
  const watch = watchRuns({
    client,
    settler: backend,
    running,
    held: () => [...running, ...state.ended, ...state.buffer],
    leaseMs: settings.renew ? leaseMs : null,
    renewing,
    cancelPollMs,
    lose,
    failed: state.failed,
  });

  async function beat(): Promise<void> {
    const memoryBytes = settings.rssBytes();
    watchMemory(memoryBytes);
    const orders = await workers.heartbeat({
      id: state.id,
      host: hostname(),
      pid: process.pid,
      queues: settings.queues,
      concurrency: settings.concurrency,
      startedAt: state.startedAt,
      seenAt: clock.now(),
      running: running.size,
      counts: { ...state.counts },
      failed: state.failures,
      jobs: longestRunning(),
      memoryBytes,
      ...(state.draining && { draining: true }),
    });
    if (orders?.drain) state.stop('asked');
  }

  const longestRunning = () =>
    [...running]
      .filter(({ id, startedAt }) => id !== null && startedAt > 0)
      .sort((a, b) => a.startedAt - b.startedAt)
      .slice(0, mostJobs)
      .map(({ id, job, startedAt }) => ({ id: id!, job, startedAt }));

  function watchMemory(rssBytes: number): void {
    if (rssBytes > settings.maxMemoryBytes) state.stop('max-memory');
    if (baselineBytes === 0) baselineBytes = rssBytes;
    if (rssBytes < baselineBytes * growthFactor || rssBytes < baselineBytes + growthBytes) return;
    events.emit({ type: 'worker.memory', worker: state.id, rssBytes, baselineBytes });
    baselineBytes = rssBytes; // warn again only when it has doubled again
  }

  async function purge(): Promise<void> {
    const { audit } = client.stores;
    const purges = [() => records.purge(), () => audit?.purge(clock.now()) ?? 0];
    for (const some of purges) while (!watch.stopped && (await some()) > 0) await new Promise(setImmediate); // jobs run in between
  }

  let lines: (() => Promise<void>) | undefined;
  async function lookAtLines(): Promise<void> {
    lines ??= (await import('../../features/limits/lines.ts')).lookingAtLines(client);
    await lines();
  }

  const rollUpNumbers = async () =>
    (await import('../../features/metrics/roll-up.ts')).rollUp(app, client.stores);

  const jittered = (ms: number) => () => ms * (0.5 + app.random() / 2); // many workers must not reap in step
  watch.every('reaping', jittered(Math.min(leaseMs, longestReapMs)), () => reap(state));
  watch.every('purging', jittered(purgeMs), purge);
  if (client.stores.limits && backend.pending)
    watch.every('waking jobs at limits', jittered(Math.min(leaseMs, longestReapMs)), lookAtLines);
  watch.every('writing a heartbeat', firstAfter(0, heartbeatMs), beat);
  if (client.stores.batches)
    watch.every('looking at batches', jittered(lookEveryMs), () => lookAtBatches(client));
  const { numbers } = state;
  if (numbers) {
    watch.every('writing numbers', () => flushMs, numbers.flush);
    watch.every('rolling up numbers', jittered(rollUpMs), rollUpNumbers);
  }
  const { alerts } = app;
  if (alerts)
    watch.every('evaluating alerts', firstAfter(firstLookMs, lookMs), () =>
      alerts.evaluate(scoped(client), 'worker'),
    );
  if (settings.maxRuntimeMs !== null) watch.once(settings.maxRuntimeMs, () => state.stop('max-runtime'));
  return {
    stop() {
      watch.stop();
      unlisten?.();
    },
  };
}

/** Delays: `firstMs`, and then always `ms`. */
function firstAfter(firstMs: number, ms: number): () => number {
  let nextMs = firstMs;
  return () => {
    const delayMs = nextMs;
    nextMs = ms;
    return delayMs;
  };
}
