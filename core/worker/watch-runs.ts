/** What must go on while jobs run, in a worker and in a function: their leases are renewed, and cancels reach them. */

import type { Run } from '../attempt/run.ts';
import type { JobSettler } from '../contract/queue.ts';
import type { Client } from '../enqueue/client.ts';

export interface WatchOptions {
  readonly client: Client;
  readonly settler: Pick<JobSettler, 'renew'>;
  /** Their handlers are at work. */
  readonly running: Iterable<Run>;
  /** All whose leases must be renewed. */
  held(): readonly Run[];
  /** `null`: the leases outlast their jobs. */
  readonly leaseMs: number | null;
  /** A job that is cancelled while it runs is ended within this. */
  readonly cancelPollMs: number;
  lose(run: Run): void;
  failed(during: string, error: unknown): void;
}

export function watchRuns(options: WatchOptions) {
  const { client, running, held, leaseMs, cancelPollMs, failed } = options;
  const { stores, app } = client;
  const timers = new Set<() => void>();

  function once(delayMs: number, task: () => void): void {
    const cancel = app.clock.after(delayMs, () => {
      timers.delete(cancel);
      task();
    });
    timers.add(cancel);
  }

  /** Runs `task` again and again, each time `delayMs()` after it ended. A failure is reported and does not end it. */
  function every(during: string, delayMs: () => number, task: () => Promise<void>): void {
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
  if (leaseMs !== null)
    every(
      'renewing',
      () => leaseMs / 3,
      () => renew(held(), leaseMs, options),
    );
  return watch;
}

/** A run whose lease was not renewed before its end is lost, whatever the backend answered. */
async function renew(held: readonly Run[], leaseMs: number, options: WatchOptions): Promise<void> {
  const { client, settler, lose } = options;
  const { clock } = client.app;
  if (held.length === 0) return;
  try {
    const now = clock.now(); // a lease counts from the question, not from the answer
    const renewed = await settler.renew(
      held.map(({ lease }) => lease),
      leaseMs,
    );
    // All of them before the first key: a store may take its time, and meanwhile these leases are not over.
    for (const [i, run] of held.entries()) {
      if (renewed[i]) run.expiresAt = now + leaseMs;
      else lose(run);
    }
    for (const [i, { key, lease, expiresAt }] of held.entries()) {
      if (renewed[i] && key !== null) await client.stores.keys.extend(key, lease.token, expiresAt);
    }
  } finally {
    for (const run of held) if (run.expiresAt <= clock.now()) lose(run);
  }
}
