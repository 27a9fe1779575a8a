import { checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { config } from '../../base/errors.ts';
import { type Outcome, type StopReason, tellWarning } from '../../base/events.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { Stores } from '../../contract/store.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { refuse } from '../enqueue/abilities.ts';

export interface WorkerOptions {
  readonly backend: QueueBackend;
  /** State that the backend does not keep itself. */
  readonly store?: Partial<Stores>;
  /** One that the app does not name is told as `backend.warning`. @default every queue that the app names */
  readonly queues?: readonly string[];
  /** Jobs that run at the same time. @default 10 */
  readonly concurrency?: number;
  /**
   * Jobs fetched ahead of a free slot; their leases are renewed while they wait. More throughput for tiny
   * jobs; but a job waiting behind a slow one could have run on another worker. @default 0 */
  readonly prefetch?: number;
  /** A worker that dies is noticed after so long. Renewed at a third of it. @default 30_000 */
  readonly leaseMs?: number;
  /** `false`: leases are not renewed, so `leaseMs` must cover the longest job. @default true */
  readonly renew?: boolean;
  /** At a stop, running jobs get so long to end; then they are aborted and released. @default 10_000 */
  readonly drainMs?: number;
  /** Stops after so many jobs were settled. */
  readonly maxJobs?: number;
  /** Stops when the process's resident memory is larger. Checked after each job, and every 5 s. */
  readonly maxMemoryBytes?: number;
  readonly maxRuntimeMs?: number;
  /** Takes one job, or none when none is ready, and stops. */
  readonly once?: boolean;
  /** Stops when nothing is ready, nothing runs and no dead worker has left a job whose lease is over; delayed jobs are left. */
  readonly untilIdle?: boolean;
  /** Process signals that start a drain. @default none: the owner of the process decides */
  readonly signals?: readonly NodeJS.Signals[];
  /** For tests: the resident memory of the process. */
  readonly testing?: { readonly rssBytes?: () => number };
}

export interface WorkerSettings
  extends Required<Omit<WorkerOptions, 'store' | 'maxJobs' | 'maxMemoryBytes' | 'maxRuntimeMs' | 'testing'>> {
  readonly maxJobs: number;
  readonly maxMemoryBytes: number;
  readonly maxRuntimeMs: number | null;
  /** Resident memory of the process. */
  readonly rssBytes: () => number;
}

export interface WorkerSummary {
  readonly reason: StopReason;
  /** Settlements that took effect; a run that had lost its lease is not among them. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Jobs released unfinished, without an attempt being spent. */
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

/** The words are loaded for it: most workers never need them. */
async function tellUnnamed({ events, queues }: App, backend: string, queue: string): Promise<void> {
  const { hint } = await import('../../base/nearest.ts');
  tellWarning(
    events,
    backend,
    `The app names no queue "${queue}": a worker takes from it, and nobody can enqueue there.${hint(queue, queues)} If it is meant, name it: createApp({ queues: { '${queue}': {} } }).`,
  );
}

/** Names all jobs that may run for longer than their lease can last. */
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

/** What its backend can do is checked where it is connected. @param jobs those that may come to this backend */
export function settingsOf(
  app: App,
  options: WorkerOptions,
  jobs: Iterable<Job> = app.jobs.values(),
): WorkerSettings {
  checkOptions('startWorker()', options, workerKinds);
  const { backend, concurrency = 10, leaseMs = 30_000, renew = true, drainMs = 10_000 } = options;
  const { queues = app.queues, prefetch = 0, once = false, untilIdle = false, signals = [] } = options;
  const { maxJobs = Infinity, maxMemoryBytes = Infinity, maxRuntimeMs = null, testing } = options;
  if (queues.length === 0)
    throw config('A worker needs at least one queue, got none. Define a job or name queues.');
  for (const queue of queues) checkQueue(queue);
  const unknown = queues.find((queue) => !app.queues.includes(queue));
  if (unknown !== undefined) void tellUnnamed(app, backend.name, unknown);
  checkLeases(backend, jobs, { leaseMs, renew });
  return {
    backend,
    queues,
    concurrency,
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
    rssBytes: testing?.rssBytes ?? process.memoryUsage.rss,
  };
}
