/** The work of a worker besides its jobs: heartbeats, chores, the memory limit, and the watch over running jobs (watch-runs.ts). */

import { hostname } from 'node:os';
import type { Run } from '../attempt/run.ts';
import { choresOf, startChores } from './chores.ts';
import { renewing } from './renew-leases.ts';
import type { WorkerState } from './state.ts';
import { watchRuns } from './watch-runs.ts';

const cancelPollMs = 1_000;
const heartbeatMs = 5_000;
/** The most running jobs that a heartbeat lists. */
const mostJobs = 20;
/** Memory growth that is reported: this factor, and at least this many bytes, since the first reading or the last report. */
const growthFactor = 2;
const growthBytes = 100 * 1024 * 1024;

/** @returns `resign`: lets another worker do the chores of the backend */
export function startMaintenance(state: WorkerState): { stop(): void; resign(): Promise<void> } {
  const { app, settings, client, running } = state;
  const { backend, leaseMs } = settings;
  const { workers } = client.stores;
  const { clock, events } = app;
  let baselineBytes = 0;

  function lose(run: Run): void {
    state.buffer = state.buffer.filter((other) => other !== run);
    state.lost(run);
    if (running.has(run)) run.end('lease-lost');
  }

  const heard = backend.hints?.watchLeases?.({
    lost(tokens) {
      for (const run of [...running, ...state.buffer]) if (tokens.has(run.lease.token)) lose(run);
    },
    cancelled: () => watch.lookForCancels(),
  });
  const watch = watchRuns({
    client,
    settler: backend,
    running,
    held: () => [...running, ...state.ended, ...state.buffer],
    leaseMs: settings.renew ? leaseMs : null,
    renewing,
    cancelPollMs,
    // Cancels in a separate store are not reported by the queue.
    hearsCancels: () => heard?.hearsCancels === true && client.stores.records === backend.stores?.records,
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
      ...(state.reason !== null && { draining: true }),
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

  watch.every('writing a heartbeat', firstAfter(0, heartbeatMs), beat);
  const { numbers } = state;
  if (numbers) watch.every('writing numbers', () => numbers.flushMs, numbers.flush);
  const { resign } = startChores({ state, watch }, choresOf(app, backend));
  if (settings.maxRuntimeMs !== null) watch.once(settings.maxRuntimeMs, () => state.stop('max-runtime'));
  return {
    resign,
    stop() {
      watch.stop();
      heard?.stop();
    },
  };
}

/** The first delay is `firstMs`, all later ones are `ms`. */
function firstAfter(firstMs: number, ms: number): () => number {
  let nextMs = firstMs;
  return () => {
    const delayMs = nextMs;
    nextMs = ms;
    return delayMs;
  };
}
