import { checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import { type Outcome, type StopReason, tellWarning } from '../../base/events.ts';
import { hint } from '../../base/nearest.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Stores } from '../../contract/store.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { refuse } from '../enqueue/abilities.ts';

/** Names of queues, or the slots of each. */
export type Queues = readonly string[] | Readonly<Record<string, number>>;

export interface WorkerOptions {
  readonly backend: QueueBackend;
  /** Stores for state that the backend does not keep itself. */
  readonly store?: Partial<Stores>;
  /**
   * The queues to take from. `{ import: 4, mail: 4 }` = each has its own slots: it never runs more jobs at the same time, and never fewer because of
   * another queue. The event `backend.warning` reports a queue that the app does not name. @default all queues of the app, which share all slots
   */
  readonly queues?: Queues;
  /** How many jobs run at the same time. With slots per queue they run as many as these slots. @default 10, or the sum of the slots */
  readonly concurrency?: number;
  /**
   * The most jobs that are fetched before a slot is free; their leases are renewed while they wait. Within it the worker tunes itself: it
   * measures attempts and fetches, and holds no job that cannot begin within 100 ms or a quarter of `leaseMs`. 0 = none, at most 10,000. @default 500
   */
  readonly prefetch?: number;
  /** How long a lease lasts without renewal, ms: the jobs of a dead worker are ready again after this time. Renewed every third of it. @default 30_000 */
  readonly leaseMs?: number;
  /** `false` = leases are not renewed, so `leaseMs` must be longer than every job. @default true */
  readonly renew?: boolean;
  /** How long running jobs may take to end when the worker stops, ms. Then they are aborted and released. @default 10_000 */
  readonly drainMs?: number;
  /** The worker stops after this number of jobs. @default no limit */
  readonly maxJobs?: number;
  /** The worker stops when the resident memory of the process exceeds this. Checked after each job and every 5 s. @default no limit */
  readonly maxMemoryBytes?: number;
  /** The worker stops after this time, ms. @default no limit */
  readonly maxRuntimeMs?: number;
  /** Runs one job and stops; stops at once if no job is ready. @default false */
  readonly once?: boolean;
  /**
   * Stops when no job is ready or running. Jobs of dead workers whose lease has ended are run; delayed jobs, and jobs of queues that are left out
   * because their limits are full, are not. @default false
   */
  readonly untilIdle?: boolean;
  /** Process signals that stop the worker. @default none: the program handles signals itself */
  readonly signals?: readonly NodeJS.Signals[];
  /** For tests: the resident memory of the process. */
  readonly testing?: { readonly rssBytes?: () => number };
}

export interface WorkerSettings
  extends Required<
    Omit<WorkerOptions, 'store' | 'queues' | 'maxJobs' | 'maxMemoryBytes' | 'maxRuntimeMs' | 'testing'>
  > {
  readonly queues: readonly string[];
  /** The slots of each queue; `null` = the queues share all of them. */
  readonly slots: ReadonlyMap<string, number> | null;
  readonly maxJobs: number;
  readonly maxMemoryBytes: number;
  readonly maxRuntimeMs: number | null;
  /** How long a job may wait for a slot. Then it is given back. */
  readonly aheadMs: number;
  /** Resident memory of the process. */
  readonly rssBytes: () => number;
}

export interface WorkerSummary {
  readonly reason: StopReason;
  /** Settled attempts by outcome. An attempt that lost its lease is not counted. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Unfinished jobs that were released without spending an attempt. */
  readonly released: number;
  readonly durationMs: number;
}

export const workerKinds = {
  backend: '',
  store: '',
  queues: '',
  concurrency: 1,
  prefetch: 0,
  leaseMs: 100,
  renew: 'boolean',
  drainMs: 0,
  maxJobs: 1,
  maxMemoryBytes: 1,
  maxRuntimeMs: 1,
  once: 'boolean',
  untilIdle: 'boolean',
  signals: '',
  testing: '',
} satisfies OptionKinds<WorkerOptions>;

function tellUnnamed({ events, queues }: App, backend: string, queue: string): void {
  tellWarning(
    events,
    backend,
    `The app names no queue "${queue}": a worker takes from it, but no job can be enqueued there.${hint(queue, queues)} If this is intended, name it: createApp({ queues: { '${queue}': {} } }).`,
  );
}

/** Throws `CONFIG` with all jobs that may run longer than their lease can last. */
function checkLeases(
  { name, limits: { maxLeaseMs } }: QueueBackend,
  jobs: Iterable<Job>,
  { leaseMs, renew }: Pick<WorkerSettings, 'leaseMs' | 'renew'>,
): void {
  const faults: string[] = [];
  for (const { name: job, timeoutMs } of jobs) {
    if (!renew && leaseMs <= timeoutMs)
      faults.push(
        `Without renewal the lease must outlast every job: leaseMs is ${leaseMs}, but job "${job}" may run ${timeoutMs} ms. Raise leaseMs, lower its timeoutMs, or leave renewal on.`,
      );
    if (maxLeaseMs !== null && timeoutMs > maxLeaseMs)
      faults.push(
        `Job "${job}" may run ${timeoutMs} ms, but backend "${name}" holds a lease for at most ${maxLeaseMs} ms. Lower its timeoutMs.`,
      );
  }
  refuse(`A worker of backend "${name}" cannot run these jobs:`, faults);
}

/** Jobs fetched ahead of the slots, if the option does not say it: more made no queue faster. */
const mostAhead = 500;
const mostPrefetch = 10_000;
/** A job does not wait longer for a slot of this worker, because another worker may have one. */
const longestAheadMs = 100;

export const namesOf = (queues: Queues): readonly string[] =>
  Array.isArray(queues) ? queues : Object.keys(queues);

/** Throws `CONFIG`. `null` = the queues share the slots. */
function slotsOf(queues: Queues, concurrency: number | undefined): ReadonlyMap<string, number> | null {
  if (Array.isArray(queues)) return null;
  const slots = new Map(Object.entries(queues));
  for (const [queue, count] of slots)
    if (!Number.isSafeInteger(count) || count < 1)
      throw config(
        `Expected the slots of queue "${queue}" to be an integer of 1 or more, got ${shown(count)}. Leave the queue out if this worker takes no jobs from it.`,
      );
  const sum = sumOf(slots);
  if (concurrency !== undefined && sum > concurrency)
    throw config(
      `The queues have ${sum} slots together, but concurrency of startWorker() is ${concurrency}. Raise it to ${sum}, leave it out, or give the queues fewer slots.`,
    );
  return slots;
}

const sumOf = (slots: ReadonlyMap<string, number>): number =>
  [...slots.values()].reduce((sum, count) => sum + count, 0);

const longestOf = (jobs: readonly Job[]): number => Math.max(0, ...jobs.map(({ timeoutMs }) => timeoutMs));

/** Throws `CONFIG`. The abilities of the backend are checked in `connect()`, not here. @param jobs the jobs that may run on this backend */
export function settingsOf(
  app: App,
  options: WorkerOptions,
  jobs: Iterable<Job> = app.jobs.values(),
): WorkerSettings {
  checkOptions('startWorker()', options, workerKinds);
  const { backend, concurrency, leaseMs = 30_000, renew = true, drainMs = 10_000 } = options;
  const {
    queues: given = app.queues,
    prefetch = mostAhead,
    once = false,
    untilIdle = false,
    signals = [],
  } = options;
  const { maxJobs = Infinity, maxMemoryBytes = Infinity, maxRuntimeMs = null, testing } = options;
  if (typeof given !== 'object' || given === null)
    throw config(
      `Expected queues of startWorker() to be a list of names or the slots of each, such as { mail: 4 }, got ${shown(given)}.`,
    );
  const queues = namesOf(given);
  if (queues.length === 0)
    throw config('A worker needs at least one queue, got none. Define a job or name queues.');
  for (const queue of queues) checkQueue(queue);
  const slots = slotsOf(given, concurrency);
  const unknown = queues.find((queue) => !app.queues.includes(queue));
  if (unknown !== undefined) tellUnnamed(app, backend.name, unknown);
  if (prefetch > mostPrefetch)
    throw config(
      `Expected prefetch of startWorker() to be at most ${mostPrefetch}, got ${prefetch}. Leave it out: the worker then measures how many jobs it needs ahead.`,
    );
  const all = [...jobs];
  checkLeases(backend, all, { leaseMs, renew });
  return {
    backend,
    queues,
    slots,
    concurrency: slots ? sumOf(slots) : (concurrency ?? 10),
    prefetch,
    leaseMs,
    renew,
    drainMs,
    once,
    untilIdle,
    signals,
    maxJobs: once ? 1 : maxJobs,
    maxMemoryBytes,
    maxRuntimeMs,
    aheadMs: Math.min(longestAheadMs, leaseMs / 4, renew ? Infinity : leaseMs - longestOf(all)),
    rssBytes: testing?.rssBytes ?? process.memoryUsage.rss,
  };
}
