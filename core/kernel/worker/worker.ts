/**
 * A worker of one backend. slots.ts and feed.ts fetch jobs as soon as a slot is free, without waiting for the slowest job of a fetch.
 * maintenance.ts renews leases, reaps, reads cancels and sends heartbeats. shutdown.ts stops the worker.
 */

import { once } from 'node:events';
import { backendError } from '../../base/failure.ts';
import type { App } from '../app/app.ts';
import { refuseInsideIsolate } from '../app/isolation.ts';
import type { Client } from '../enqueue/client.ts';
import { connectOne } from '../enqueue/connect.ts';
import { groupAcks } from './ack-groups.ts';
import { createFeed } from './feed.ts';
import { startMaintenance } from './maintenance.ts';
import { settingsOf, type WorkerOptions, type WorkerSettings } from './options.ts';
import { RunList } from './run-list.ts';
import { drain, drainOnSignals } from './shutdown.ts';
import { createSlots } from './slots.ts';
import type { BoundQueues, CountAttempts, Worker, WorkerState } from './state.ts';

/** Starts the worker of an app with one backend. */
export function startOnly(app: App, options: WorkerOptions): Worker {
  refuseInsideIsolate('startWorker');
  app.keyRing(); // a missing key must stop the start, not the first job
  const { backend, store } = options;
  const client = connectOne(app, backend, store ? { store } : {});
  return startOne(app, settingsOf(app, options), client);
}

export function startOne(app: App, settings: WorkerSettings, client: Client): Worker {
  const { backend, concurrency, queues } = settings;
  const { clock, events, random } = app;
  const id = app.newId();
  const stopping = new AbortController();
  const state: WorkerState = {
    id,
    app,
    settings,
    client,
    startedAt: clock.now(),
    reason: null,
    hasStopped: false,
    buffer: [],
    running: new RunList(),
    ended: new RunList(),
    counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
    failures: 0,
    settledJobs: 0,
    released: 0,
    numbers: (app.installed.counter as CountAttempts)(client, { source: id, rssBytes: settings.rssBytes }),
    bounds: (app.installed.bounds as BoundQueues)(client),
    stop(reason) {
      if (state.reason !== null) return;
      state.reason = reason;
      events.emit({ type: 'worker.draining', worker: id, reason, running: state.running.size });
      stopping.abort();
      feed.wake();
    },
    lost: (run) => slots.lost(run),
    failed(during, error) {
      // The backend may be closed by now. Only a failed settlement still matters.
      if (state.hasStopped && during !== 'settling') return;
      const { name } = backend;
      events.emit({ type: 'backend.failed', backend: name, during, error: backendError(during, error) });
    },
  };
  const acks = groupAcks(backend, {
    send: (ended) => feed.refill(ended),
    isIdle: () => state.buffer.length === 0,
    patienceMs: settings.leaseMs,
    failed: (error) => state.failed('settling', error),
    clock,
    random,
  });
  const slots = createSlots(state, acks, () => feed.wake());
  const feed = createFeed(state, slots, acks, stopping.signal);

  const signals = drainOnSignals(state);
  events.emit({ type: 'worker.started', worker: id, backend: backend.name, queues, concurrency });
  const maintenance = startMaintenance(state);
  const feeding = feed.run();
  const parts = { slots, acks, maintenance, feeding, signals };
  const done = once(stopping.signal, 'abort').then(() => drain(state, parts));
  return {
    id,
    running: () => state.running.size,
    stop(reason = 'stopped') {
      state.stop(reason);
      return done;
    },
    done,
  };
}
