/** Watches running jobs in a worker or a function: renews their leases and ends cancelled ones. */

import { steadyNow } from '../../base/clock.ts';
import type { Run } from '../attempt/run.ts';
import type { RenewOptions, renewing } from './renew-leases.ts';

const soonMs = 20;
/** How often cancels are read if the queue reports them: a report may be lost with its connection. */
const heardPollMs = 5_000;

export interface WatchOptions extends RenewOptions {
  /** Runs whose handlers run. */
  readonly running: Iterable<Run>;
  /** `null` = leases are not renewed, because they outlast their jobs. */
  readonly leaseMs: number | null;
  readonly renewing: typeof renewing;
  /** A running job that is cancelled is ended within this time. */
  readonly cancelPollMs: number;
  /** Whether the queue reports every cancel with `lookForCancels`. @default false */
  readonly hearsCancels?: () => boolean;
}

export type Watch = ReturnType<typeof watchRuns>;

export function watchRuns(options: WatchOptions) {
  const { client, running, leaseMs, renewing, cancelPollMs } = options;
  const { stores, app } = client;
  const timers = new Set<() => void>();

  /** Reports nothing after the stop, because calls may then fail only because the backend was closed. */
  function failed(during: string, error: unknown): void {
    if (!watch.stopped) options.failed(during, error);
  }

  /** Returns a function that cancels the task. */
  function once(delayMs: number, task: () => void): () => void {
    const cancel = app.clock.after(delayMs, () => {
      timers.delete(cancel);
      task();
    });
    timers.add(cancel);
    return () => {
      timers.delete(cancel);
      cancel();
    };
  }

  /** Runs `task` repeatedly, each time `delayMs()` after it ended. A failure is reported, and the task goes on. */
  function every(during: string, delayMs: () => number, task: () => Promise<unknown>): void {
    if (watch.stopped) return;
    once(delayMs(), async () => {
      try {
        await task();
      } catch (error) {
        failed(during, error);
      }
      every(during, delayMs, task);
    });
  }

  /** When cancels were last read, and until when a read may miss a job that is just being leased. */
  let lookedAt = -Infinity;
  let unsureUntil = -Infinity;
  let isLookDue = false;
  /** Runs that were held when a cancel was reported, and whose ids were not known yet. */
  const unsure = new Set<Run>();

  async function endCancelled(): Promise<void> {
    lookedAt = steadyNow(app.clock);
    const held = new Set(unsure.size > 0 ? options.held() : []);
    for (const run of unsure) if (!held.has(run)) unsure.delete(run);
    const byId = new Map<string, Run>();
    for (const run of running) if (run.id !== null) byId.set(run.id, run);
    if (byId.size === 0) return;
    for (const id of await stores.records.cancelRequested([...byId.keys()])) byId.get(id)?.end('cancelled');
    for (const run of byId.values()) unsure.delete(run);
  }

  async function lookEachSecond(): Promise<void> {
    const now = steadyNow(app.clock);
    const isHeard = options.hearsCancels?.() === true && now >= unsureUntil && unsure.size === 0;
    if (!isHeard || now - lookedAt >= heardPollMs) await endCancelled();
  }

  /** Called when a running job may have been cancelled. One read serves all reports that come meanwhile. */
  function lookForCancels(): void {
    unsureUntil = steadyNow(app.clock) + 2 * cancelPollMs;
    for (const run of options.held()) if (run.id === null) unsure.add(run);
    if (isLookDue || watch.stopped) return;
    isLookDue = true;
    once(soonMs, () => {
      isLookDue = false;
      endCancelled().catch((error) => failed('reading cancels', error));
    });
  }

  const watch = {
    every,
    once,
    failed,
    lookForCancels,
    stopped: false,
    stop(): void {
      watch.stopped = true;
      for (const cancel of timers) cancel();
    },
  };
  every('reading cancels', () => cancelPollMs, lookEachSecond);
  if (leaseMs !== null) every('renewing', () => leaseMs / 3, renewing({ ...options, failed }, leaseMs));
  return watch;
}
