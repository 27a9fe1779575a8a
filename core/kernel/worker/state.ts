/** A worker, from outside and from inside. */

import type { Outcome, StopReason } from '../../base/events.ts';
import type { App } from '../app/app.ts';
import type { AttemptResult } from '../attempt/attempt.ts';
import type { Run } from '../attempt/run.ts';
import type { Client } from '../enqueue/client.ts';
import type { WorkerSettings, WorkerSummary } from './options.ts';
import type { RunList } from './run-list.ts';

export interface Worker {
  readonly id: string;
  /** How many jobs run now. */
  running(): number;
  /** Drains: no new jobs, running ones may end within `drainMs`, the rest is released. May be called again. */
  stop(reason?: StopReason): Promise<WorkerSummary>;
  /** Resolves when the worker has stopped, for whatever reason. Never rejects. */
  readonly done: Promise<WorkerSummary>;
  /** Where it takes from several backends: the worker of each. */
  readonly workers?: readonly Worker[];
}

/** Counts attempts, and writes the sums now and then. */
export interface Counter {
  readonly flushMs: number;
  /** @param bytes what `sample` answered before */
  count(queue: string, result: AttemptResult, bytes: number | null): void;
  /** Resident bytes before an attempt; `null` = this attempt is not measured. @param now epoch ms, where the caller knows it */
  sample(now?: number): number | null;
  /** Writes all that was counted until now. Never rejects. */
  flush(): Promise<void>;
}

/** `null` where no numbers are kept. @param options the worker's id, and the resident memory of the process in bytes */
export type CountAttempts = (
  client: Client,
  options: { readonly source: string; readonly rssBytes: () => number },
) => Counter | null;

/** What the loop and its maintenance share. */
export interface WorkerState {
  readonly id: string;
  readonly app: App;
  readonly settings: WorkerSettings;
  readonly client: Client;
  readonly startedAt: number;
  /** Why it drains; `null` = it goes on. */
  reason: StopReason | null;
  /** It has drained. */
  hasStopped: boolean;
  /** Fetched, not begun. */
  buffer: Run[];
  /** Their handlers are at work: these fill the slots. */
  readonly running: RunList;
  /** Their handlers have ended; the backend has not confirmed yet how. */
  readonly ended: RunList;
  readonly counts: Record<Outcome, number>;
  /** Attempts that failed, of all that were settled. */
  failures: number;
  /** All that came to an end here, whatever it was. */
  settledJobs: number;
  /** Unfinished or not begun, without an attempt being spent. */
  released: number;
  /** `null`: no numbers are kept. */
  readonly numbers: Counter | null;
  stop(reason: StopReason): void;
  /** Its lease is gone. */
  lost(run: Run): void;
  /** Reports what failed as an event. */
  failed(during: string, error: unknown): void;
}
