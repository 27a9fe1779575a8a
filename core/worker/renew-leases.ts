/** Renews the leases of jobs that run: what has not been renewed by its end is lost, whatever the backend answered. */

import type { Run } from '../attempt/run.ts';
import type { Clock } from '../base/clock.ts';
import type { JobSettler } from '../contract/queue.ts';
import type { KeyStore } from '../contract/store.ts';

export interface RenewPorts {
  readonly settler: Pick<JobSettler, 'renew'>;
  readonly keys: Pick<KeyStore, 'extend'>;
  readonly clock: Clock;
  readonly leaseMs: number;
  lose(run: Run): void;
}

export async function renew(held: readonly Run[], ports: RenewPorts): Promise<void> {
  const { settler, keys, clock, leaseMs, lose } = ports;
  if (held.length === 0) return;
  try {
    const now = clock.now(); // a lease counts from the question, not from the answer
    const renewed = await settler.renew(
      held.map(({ lease }) => lease),
      leaseMs,
    );
    // All of them before the first key is asked for: a store may take its time, and meanwhile these leases are not over.
    for (const [i, run] of held.entries()) {
      if (renewed[i]) run.expiresAt = now + leaseMs;
      else lose(run);
    }
    for (const [i, { key, lease, expiresAt }] of held.entries()) {
      if (renewed[i] && key !== null) await keys.extend(key, lease.token, expiresAt);
    }
  } finally {
    for (const run of held) if (run.expiresAt <= clock.now()) lose(run);
  }
}
