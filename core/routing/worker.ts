/** Starts a worker of one backend, or of several backends in one process: one worker for each, combined into one. */

import { refuseRenamed } from '../base/checks.ts';
import { config, shown } from '../base/errors.ts';
import type { StopReason } from '../base/events.ts';
import { didYouMean } from '../base/nearest.ts';
import type { App } from '../kernel/app/app.ts';
import { refuseInsideIsolate } from '../kernel/app/isolation.ts';
import { type Backends, isBackend, jobsOn, queuesOn } from '../kernel/enqueue/backends.ts';
import {
  namesOf,
  type Queues,
  settingsOf,
  type WorkerOptions,
  type WorkerSummary,
} from '../kernel/worker/options.ts';
import type { Worker } from '../kernel/worker/state.ts';
import { startOne, startOnly } from '../kernel/worker/worker.ts';
import type { RoutingOptions } from './client.ts';
import { connect } from './connect.ts';
import { viewOf } from './other-backends.ts';

/** Options for several backends. The worker of each backend gets the same options. */
export interface EachWorkerOptions extends Omit<WorkerOptions, 'backend' | 'store'>, RoutingOptions {
  readonly backend: Backends;
  /** Takes jobs only from the backend of this name. @default all backends that this process uses */
  readonly backendName?: string;
}

/** Stop reasons that end only the worker of one backend. The others go on. */
const ownEnds: readonly StopReason[] = ['once', 'idle', 'backend-failed'];

/** Starts a worker, which runs jobs until `stop()` is called. Throws `CONFIG` for invalid options and if production has no signing key. */
export function startWorker(app: App, options: WorkerOptions): Worker;
/** Starts a worker for each of several backends, combined into one `Worker`. */
export function startWorker(app: App, options: EachWorkerOptions): Promise<Worker>;
export function startWorker(app: App, options: WorkerOptions | EachWorkerOptions): Worker | Promise<Worker> {
  return isAlone(options) ? startOnly(app, options) : startEach(app, options);
}

const isAlone = (options: WorkerOptions | EachWorkerOptions): options is WorkerOptions =>
  isBackend(options.backend);

async function startEach(app: App, options: EachWorkerOptions): Promise<Worker> {
  refuseInsideIsolate('startWorker');
  refuseRenamed('startWorker()', options, { backendName: '' });
  app.keyRing(); // a missing key must stop the start, not the first job
  const { backend: backends, backendName, failover = {}, store = {}, ...rest } = options;
  const client = connect(app, backends, { failover, store });
  if (backendName !== undefined && !client.backends.has(backendName))
    throw config(
      `Expected backendName to be one of ${[...client.backends.keys()].join(', ')}, got ${shown(backendName)}.${didYouMean(backendName, client.backends.keys())}`,
    );
  // All settings are checked before the first worker takes a job.
  const starts = [...client.backends].flatMap(([name, own]) => {
    if (backendName !== undefined && backendName !== name) return [];
    const queues = queuesAt(app, name, queuesOn(app, name, failover), options);
    if (namesOf(queues).length === 0 && backendName === undefined) return [];
    const settings = settingsOf(app, { ...rest, backend: own.backend, queues }, jobsOn(app, name, failover));
    return [{ settings, client: viewOf(client, name) }];
  });
  if (starts.length === 0)
    throw config('A worker needs at least one queue, got none. Define a job or name queues.');
  return together(starts.map((one) => startOne(app, one.settings, one.client)));
}

/** A queue that the app does not name belongs to the default backend. */
function queuesAt(
  app: App,
  name: string,
  own: readonly string[],
  { queues, backendName }: EachWorkerOptions,
): Queues {
  if (queues === undefined) return own;
  if (backendName !== undefined || typeof queues !== 'object' || queues === null) return queues;
  const isHere = (queue: string) =>
    own.includes(queue) || (name === 'default' && !app.queues.includes(queue));
  if (Array.isArray(queues)) return queues.filter(isHere);
  return Object.fromEntries(Object.entries(queues).filter(([queue]) => isHere(queue)));
}

function together(workers: readonly Worker[]): Worker {
  const [first] = workers;
  if (workers.length === 1) return first!;
  let why: StopReason | null = null;
  const stop = async (reason: StopReason = 'stopped') => {
    why ??= reason;
    await Promise.all(workers.map((worker) => worker.stop(why!)));
    return done;
  };
  for (const worker of workers)
    void worker.done.then(({ reason }) => ownEnds.includes(reason) || void stop(reason));
  const done = Promise.all(workers.map((worker) => worker.done)).then((all) => summaryOf(all, why));
  return {
    id: first!.id,
    workers,
    running: () => workers.reduce((sum, worker) => sum + worker.running(), 0),
    stop,
    done,
  };
}

function summaryOf(all: readonly WorkerSummary[], why: StopReason | null): WorkerSummary {
  const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
  for (const one of all)
    for (const outcome of Object.keys(counts) as (keyof typeof counts)[])
      counts[outcome] += one.counts[outcome];
  const failed = all.find(({ reason }) => reason === 'backend-failed') ?? all[0]!;
  return {
    reason: why ?? failed.reason,
    counts,
    released: all.reduce((sum, { released }) => sum + released, 0),
    durationMs: Math.max(...all.map(({ durationMs }) => durationMs)),
  };
}
