/** The public type of a worker, and its internal state. */

import type { Outcome, StopReason } from '../../base/events.ts';
import type { App } from '../app/app.ts';
import type { AttemptResult } from '../attempt/attempt.ts';
import type { Run } from '../attempt/run.ts';
import type { Client } from '../enqueue/client.ts';
import type { WorkerSettings, WorkerSummary } from './options.ts';
import type { RunList } from './run-list.ts';

export interface Worker {
  readonly id: string;
  /** The number of jobs that run now. */
  running(): number;
  /** Stops the worker: it takes no new jobs, running jobs may end within `drainMs`, the rest is released. May be called more than once. */
  stop(reason?: StopReason): Promise<WorkerSummary>;
  /** Resolves when the worker has stopped, for any reason. Never rejects. */
  readonly done: Promise<WorkerSummary>;
  /** If it takes from several backends: the worker of each. */
  readonly workers?: readonly Worker[];
}

/** Counts attempts, and writes the sums every `flushMs`. */
export interface Counter {
  readonly flushMs: number;
  /** @param bytes the value of `sample` before the attempt */
  count(queue: string, result: AttemptResult, bytes: number | null): void;
  /** Resident bytes before an attempt; `null` = this attempt is not measured. @param now epoch ms, if the caller already has it */
  sample(now?: number): number | null;
  /** Writes all counts so far. Never rejects. */
  flush(): Promise<void>;
}

/** `null` = no store keeps metrics. @param options the worker's id, and the resident memory of the process in bytes */
export type CountAttempts = (
  client: Client,
  options: { readonly source: string; readonly rssBytes: () => number },
) => Counter | null;

/** Knows which queues have jobs that could not begin now. */
export interface Bounds {
  /** The queues that may be left out of a fetch. */
  readonly queues: ReadonlySet<string>;
  /** How many more jobs of the queue may be fetched. @param asking fetched jobs that have not begun and hold no slots */
  room(queue: string, asking: number): number;
  /** When there may be room again, although no job of this worker ends. By the steady clock. */
  opensAt(queue: string): number;
  /** Called when the handler of a job has ended. */
  ended(queue: string, job: string): void;
}

export type BoundQueues = (client: Client) => Bounds;

/** The state that the parts of a worker share. */
export interface WorkerState {
  readonly id: string;
  readonly app: App;
  readonly settings: WorkerSettings;
  readonly client: Client;
  readonly startedAt: number;
  /** Why the worker drains; `null` = it does not drain. */
  reason: StopReason | null;
  /** The worker has drained. */
  hasStopped: boolean;
  /** Fetched jobs that have not begun. */
  buffer: Run[];
  /** Jobs whose handlers run. They fill the slots. */
  readonly running: RunList;
  /** Jobs whose handlers have ended, and which the backend has not settled yet. */
  readonly ended: RunList;
  readonly counts: Record<Outcome, number>;
  /** Settled attempts that failed. */
  failures: number;
  /** All attempts that ended, settled or not. */
  settledJobs: number;
  /** Unfinished or unbegun jobs that were released without spending an attempt. */
  released: number;
  /** `null` = no store keeps metrics. */
  readonly numbers: Counter | null;
  readonly bounds: Bounds;
  stop(reason: StopReason): void;
  /** Called when the lease of a run is lost. */
  lost(run: Run): void;
  /** Emits `backend.failed`. */
  failed(during: string, error: unknown): void;
}
