/** What must go on while jobs run, in a worker and in a function: their leases are renewed, and cancels reach them. */

import { steadyNow } from '../../base/clock.ts';
import type { Run } from '../attempt/run.ts';
import type { RenewOptions, renewing } from './renew-leases.ts';

const soonMs = 20;
/** Where cancels are heard: a call may be lost with its connection. */
const heardPollMs = 5_000;

export interface WatchOptions extends RenewOptions {
  /** Their handlers are at work. */
  readonly running: Iterable<Run>;
  /** `null`: the leases outlast their jobs. */
  readonly leaseMs: number | null;
  readonly renewing: typeof renewing;
  /** A job that is cancelled while it runs is ended within this. */
  readonly cancelPollMs: number;
  /** Whether every cancel is heard, and followed by `lookForCancels`. @default false */
  readonly hearsCancels?: () => boolean;
}

export type Watch = ReturnType<typeof watchRuns>;

export function watchRuns(options: WatchOptions) {
  const { client, running, leaseMs, renewing, cancelPollMs } = options;
  const { stores, app } = client;
  const timers = new Set<() => void>();

  /** What was under way when it stopped may fail because the backend has been closed since. */
  function failed(during: string, error: unknown): void {
    if (!watch.stopped) options.failed(during, error);
  }

  /** Returns how to cancel it. */
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

  /** Runs `task` again and again, each time `delayMs()` after it ended. A failure is reported and does not end it. */
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

  /** When cancels were looked for last, and until when a look may come too soon for a job that is being given out. */
  let lookedAt = -Infinity;
  let unsureUntil = -Infinity;
  let isLookDue = false;
  /** Held when a cancel was heard, and their ids were not known. */
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

  /** A running job may have been cancelled. One look is enough for all that are heard of meanwhile. */
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
