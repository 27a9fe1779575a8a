/** What goes on while the jobs of one call of a function run: their deadline, and what watch-runs.ts does. */

import type { Run } from '../kernel/attempt/run.ts';
import type { RenewOptions } from '../kernel/worker/renew-leases.ts';
import { type WatchOptions, watchRuns } from '../kernel/worker/watch-runs.ts';

export interface Invocation extends Pick<WatchOptions, 'client' | 'settler' | 'leaseMs' | 'failed'> {
  readonly running: ReadonlySet<Run>;
  /** When every job has to be over (epoch ms). */
  readonly endAt: number;
}

const cancelPollMs = 2_000;

export function startMaintenance({ endAt, ...invocation }: Invocation): { stop(): void } {
  const { client, running } = invocation;
  const watch = watchRuns({
    ...invocation,
    held: () => [...running],
    renewing,
    cancelPollMs,
    lose: (run) => run.end('lease-lost'),
  });
  // A timeout, not a release: a job that never fits into the function's time must run out of attempts.
  watch.once(Math.max(0, endAt - client.app.clock.now()), () => {
    for (const run of running) run.end('timeout');
  });
  return watch;
}

/** Loaded where leases may end before their jobs, which is rare in functions. */
function renewing(options: RenewOptions, leaseMs: number): () => Promise<void> {
  let renew: (() => Promise<void>) | null = null;
  return async () => {
    renew ??= (await import('../kernel/worker/renew-leases.ts')).renewing(options, leaseMs);
    await renew();
  };
}
