/** Works several backends in one process: a worker for each, which stand for one. */

import { config, shown } from '../../base/errors.ts';
import type { StopReason } from '../../base/events.ts';
import { viewOf } from '../../routing/beside.ts';
import { connect } from '../../routing/connect.ts';
import { jobsOn, queuesOn } from '../../routing/queues-on.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import type { Client } from '../enqueue/client.ts';
import type { EachWorkerOptions, WorkerOptions, WorkerSettings, WorkerSummary } from './options.ts';
import type { Worker } from './state.ts';

/** Ends of one backend's work, which leave the others theirs. */
const ownEnds: readonly StopReason[] = ['once', 'idle', 'backend-failed'];

/** What one worker is made of. Given, because a bundler would load the polling worker for an import of it. */
interface Parts {
  settingsOf(app: App, options: WorkerOptions, jobs: readonly Job[]): WorkerSettings;
  startOne(app: App, settings: WorkerSettings, client: Client): Worker;
}

export function startEach(app: App, options: EachWorkerOptions, { settingsOf, startOne }: Parts): Worker {
  const { backend: backends, on, failover = {}, store = {}, ...rest } = options;
  const routing = { failover, store };
  const client = connect(app, backends, routing);
  if (on !== undefined && !client.backends.has(on))
    throw config(`Expected on to be one of ${[...client.backends.keys()].join(', ')}, got ${shown(on)}.`);
  // All are looked at before the first one takes a job.
  const starts = [...client.backends].flatMap(([name, own]) => {
    if (on !== undefined && on !== name) return [];
    const jobs = jobsOn(app, name, routing);
    const queues = queuesAt(app, name, queuesOn(app, name, routing), options);
    if (queues.length === 0 && on === undefined) return [];
    const settings = settingsOf(app, { ...rest, backend: own.backend, queues }, jobs);
    return [{ settings, client: viewOf(client, name) }];
  });
  if (starts.length === 0)
    throw config('A worker needs at least one queue, got none. Define a job or name queues.');
  return together(starts.map(({ settings, client }) => startOne(app, settings, client)));
}

/** A queue that the app does not name is one of the default backend. */
function queuesAt(
  app: App,
  name: string,
  own: readonly string[],
  { queues, on }: EachWorkerOptions,
): readonly string[] {
  if (queues === undefined) return own;
  if (on !== undefined) return queues;
  return queues.filter((queue) => own.includes(queue) || (name === 'default' && !app.queues.includes(queue)));
}

function together(each: readonly Worker[]): Worker {
  const [first] = each;
  if (each.length === 1) return first!;
  let why: StopReason | null = null;
  const stop = async (reason: StopReason = 'stopped') => {
    why ??= reason;
    await Promise.all(each.map((worker) => worker.stop(why!)));
    return done;
  };
  for (const worker of each)
    void worker.done.then(({ reason }) => ownEnds.includes(reason) || void stop(reason));
  const done = Promise.all(each.map((worker) => worker.done)).then((all) => summaryOf(all, why));
  return {
    id: first!.id,
    each,
    running: () => each.reduce((sum, worker) => sum + worker.running(), 0),
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
