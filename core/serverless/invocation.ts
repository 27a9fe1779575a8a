/** Watches the jobs of one function call: their deadline, and the work of watch-runs.ts. */

import type { Run } from '../kernel/attempt/run.ts';
import { renewing } from '../kernel/worker/renew-leases.ts';
import { type WatchOptions, watchRuns } from '../kernel/worker/watch-runs.ts';

export interface Invocation extends Pick<WatchOptions, 'client' | 'settler' | 'leaseMs' | 'failed'> {
  readonly running: ReadonlySet<Run>;
  /** When every job must have ended, epoch ms. */
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
  // A timeout spends the attempt; a release would not, and a job that needs more time than the function has would never end.
  watch.once(Math.max(0, endAt - client.app.clock.now()), () => {
    for (const run of running) run.end('timeout');
  });
  return watch;
}
