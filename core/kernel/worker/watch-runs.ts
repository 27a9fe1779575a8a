/** What must go on while jobs run, in a worker and in a function: their leases are renewed, and cancels reach them. */

import type { Run } from '../attempt/run.ts';
import type { RenewOptions, renewing } from './renew-leases.ts';

export interface WatchOptions extends RenewOptions {
  /** Their handlers are at work. */
  readonly running: Iterable<Run>;
  /** `null`: the leases outlast their jobs. */
  readonly leaseMs: number | null;
  readonly renewing: typeof renewing;
  /** A job that is cancelled while it runs is ended within this. */
  readonly cancelPollMs: number;
}

export function watchRuns(options: WatchOptions) {
  const { client, running, leaseMs, renewing, cancelPollMs } = options;
  const { stores, app } = client;
  const timers = new Set<() => void>();

  /** What was under way when it stopped may fail because the backend has been closed since. */
  function failed(during: string, error: unknown): void {
    if (!watch.stopped) options.failed(during, error);
  }

  function once(delayMs: number, task: () => void): void {
    const cancel = app.clock.after(delayMs, () => {
      timers.delete(cancel);
      task();
    });
    timers.add(cancel);
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

  async function endCancelled(): Promise<void> {
    const byId = new Map<string, Run>();
    for (const run of running) if (run.id !== null) byId.set(run.id, run);
    if (byId.size === 0) return;
    for (const id of await stores.records.cancelRequested([...byId.keys()])) byId.get(id)?.end('cancelled');
  }

  const watch = {
    every,
    once,
    stopped: false,
    stop(): void {
      watch.stopped = true;
      for (const cancel of timers) cancel();
    },
  };
  every('reading cancels', () => cancelPollMs, endCancelled);
  if (leaseMs !== null) every('renewing', () => leaseMs / 3, renewing({ ...options, failed }, leaseMs));
  return watch;
}
