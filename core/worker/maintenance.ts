/** What must go on while jobs run: renewal, cancels, reaping, heartbeats, purging, limits. */

import { hostname } from 'node:os';
import type { Run } from '../attempt/run.ts';
import { backendError } from '../base/failure.ts';
import { type RenewPorts, renew } from './renew-leases.ts';
import type { WorkerState } from './state.ts';

const cancelPollMs = 1_000;
const heartbeatMs = 5_000;
const purgeMs = 60_000;
const longestReapMs = 5_000;
/** Growth worth a warning: this factor over the first reading, and at least this much in bytes. */
const growthFactor = 2;
const growthBytes = 100 * 1024 * 1024;

export interface Maintenance {
  stop(): void;
}

export function startMaintenance(state: WorkerState): Maintenance {
  const { app, settings, client, running } = state;
  const { backend, leaseMs } = settings;
  const { records, keys, workers } = client.stores;
  const { clock, events } = app;
  const cancels = new Set<() => void>();
  let stopped = false;
  let baselineBytes = 0;

  /** Runs `task` again and again, each time `delayMs()` after it ended; a failure is told and does not end it. */
  function every(during: string, delayMs: () => number, task: () => Promise<void>): void {
    const again = () => {
      if (stopped) return;
      const cancel = clock.after(delayMs(), async () => {
        cancels.delete(cancel);
        try {
          await task();
        } catch (error) {
          events.emit({
            type: 'backend.failed',
            backend: backend.name,
            during,
            error: backendError(during, error),
          });
        }
        again();
      });
      cancels.add(cancel);
    };
    again();
  }

  function lose(run: Run): void {
    state.buffer = state.buffer.filter((other) => other !== run);
    if (running.has(run)) run.end('lease-lost');
  }

  const unlisten = backend.hints?.onLost?.((tokens) => {
    for (const run of [...running, ...state.buffer]) if (tokens.has(run.lease.token)) lose(run);
  });

  const ports: RenewPorts = { settler: backend, keys, clock, leaseMs, lose };
  const renewHeld = () => renew([...running, ...state.settling, ...state.buffer], ports);

  async function cancelAsked(): Promise<void> {
    const byId = new Map<string, Run>();
    for (const run of running) if (run.id !== null) byId.set(run.id, run);
    if (byId.size === 0) return;
    for (const id of await records.cancelRequested([...byId.keys()])) byId.get(id)?.end('cancelled');
  }

  async function reap(): Promise<void> {
    for (const queue of settings.queues) {
      const count = await backend.reapExpired(queue);
      if (count > 0) events.emit({ type: 'worker.reaped', worker: state.id, queue, count });
    }
  }

  async function beat(): Promise<void> {
    const memoryBytes = settings.rssBytes();
    watchMemory(memoryBytes);
    await workers.heartbeat({
      id: state.id,
      host: hostname(),
      pid: process.pid,
      queues: settings.queues,
      concurrency: settings.concurrency,
      startedAt: state.startedAt,
      seenAt: clock.now(),
      running: running.size,
      counts: { ...state.counts },
      memoryBytes,
    });
  }

  function watchMemory(rssBytes: number): void {
    if (rssBytes > settings.maxMemoryBytes) state.stop('max-memory');
    if (baselineBytes === 0) baselineBytes = rssBytes;
    if (rssBytes < baselineBytes * growthFactor || rssBytes < baselineBytes + growthBytes) return;
    events.emit({ type: 'worker.memory', worker: state.id, rssBytes, baselineBytes });
    baselineBytes = rssBytes; // warn again only when it has doubled again
  }

  async function purge(): Promise<void> {
    while (!stopped && (await records.purge()) > 0) await new Promise(setImmediate); // jobs get their turn in between
  }

  const jittered = (ms: number) => () => ms * (0.5 + app.random() / 2); // many workers must not reap in step
  if (settings.renew) every('renewing', () => leaseMs / 3, renewHeld);
  every('reading cancels', () => cancelPollMs, cancelAsked);
  every('reaping', jittered(Math.min(leaseMs, longestReapMs)), reap);
  every('purging', jittered(purgeMs), purge);
  let first = true;
  every(
    'writing a heartbeat',
    () => (first ? 0 : heartbeatMs),
    () => {
      first = false;
      return beat();
    },
  );
  if (settings.maxRuntimeMs !== null) {
    const stop = () => state.stop('max-runtime');
    cancels.add(clock.after(settings.maxRuntimeMs, stop));
  }
  return {
    stop() {
      stopped = true;
      for (const cancel of cancels) cancel();
      unlisten?.();
    },
  };
}
