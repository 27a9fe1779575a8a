/** What goes on while the jobs of one call of a function run: their deadline, renewal, cancels. */

import type { Run } from '../attempt/run.ts';
import type { JobSettler } from '../contract/queue.ts';
import type { Client } from '../enqueue/client.ts';
import { renew } from '../worker/renew-leases.ts';

export interface Invocation {
  readonly client: Client;
  readonly settler: Pick<JobSettler, 'renew'>;
  readonly running: ReadonlySet<Run>;
  /** When every job has to be over (epoch ms). */
  readonly endAt: number;
  /** `null`: the leases outlast the invocation. */
  readonly leaseMs: number | null;
  failed(during: string, error: unknown): void;
}

/** A job that is cancelled while it runs is told within this. */
const cancelPollMs = 2_000;

export function startMaintenance(invocation: Invocation): { stop(): void } {
  const { client, settler, running, endAt, leaseMs, failed } = invocation;
  const { stores, app } = client;
  const { clock } = app;
  const cancels = new Map<string, () => void>();

  function every(during: string, delayMs: number, task: () => Promise<void>): void {
    const again = () =>
      cancels.set(
        during,
        clock.after(delayMs, async () => {
          try {
            if (running.size > 0) await task();
          } catch (error) {
            failed(during, error);
          }
          if (cancels.has(during)) again();
        }),
      );
    again();
  }

  async function endCancelled(): Promise<void> {
    const ids = [...running].map(({ id }) => id).filter((id) => id !== null);
    const asked = ids.length > 0 ? await stores.records.cancelRequested(ids) : [];
    for (const run of running) if (run.id !== null && asked.includes(run.id)) run.end('cancelled');
  }

  // A timeout, and not a hand-back: a job that never fits into the function's time must run out of attempts.
  const deadline = () => {
    for (const run of running) run.end('timeout');
  };
  cancels.set('deadline', clock.after(Math.max(0, endAt - clock.now()), deadline));
  every('asking for cancels', cancelPollMs, endCancelled);
  if (leaseMs !== null) {
    const { keys } = stores;
    const lose = (run: Run) => run.end('lease-lost');
    every('renewing', leaseMs / 3, () => renew([...running], { settler, keys, clock, leaseMs, lose }));
  }

  return {
    stop() {
      for (const cancel of cancels.values()) cancel();
      cancels.clear();
    },
  };
}
