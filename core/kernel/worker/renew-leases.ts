/**
 * Renews leases and their keys and slots. A round does not wait for the previous one, and a lease does not wait for a key, so that a
 * call that hangs does not hold up the others.
 */

import { steadyNow, within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { JobSettler } from '../../contract/queue.ts';
import { forEach } from '../../kit/parallel.ts';
import { leaseEnd, type Run } from '../attempt/run.ts';
import type { Client } from '../enqueue/client.ts';

export interface RenewOptions {
  readonly client: Client;
  readonly settler: Pick<JobSettler, 'renew'>;
  /** All runs whose leases must be renewed. */
  held(): readonly Run[];
  lose(run: Run): void;
  failed(during: string, error: unknown): void;
}

/** Rounds at once: a server that does not answer must not get more and more calls. */
const mostRounds = 2;

/** Returns a function that must be called every third of a lease. */
export function renewing(options: RenewOptions, leaseMs: number): () => Promise<void> {
  const { client, settler, held, lose, failed } = options;
  const { clock } = client.app;
  const { keys, limits } = client.stores;
  let rounds = 0;
  let extending = false;
  const patienceMs = leaseMs / 3;
  const silent = (): never => {
    throw new LongshoreError('BACKEND', `The key store gave no answer for ${Math.ceil(patienceMs)} ms.`);
  };

  async function renewLeases(runs: readonly Run[]): Promise<void> {
    const askedAt = steadyNow(clock); // the new lease counts from the call, not from the answer
    const renewed = await settler.renew(
      runs.map(({ lease }) => lease),
      leaseMs,
    );
    for (const [i, run] of runs.entries()) {
      if (renewed[i]) run.expiresAt = Math.max(run.expiresAt, askedAt + leaseMs);
      else lose(run);
    }
  }

  async function extendKeys(runs: readonly Run[]): Promise<void> {
    let isReported = false;
    await forEach(runs, async (run) => {
      if (run.key === null || run.ended) return;
      try {
        await within(clock, patienceMs, keys.extend(run.key, run.lease.token, leaseEnd(run, clock)), silent);
      } catch (error) {
        if (!isReported) failed('renewing keys', error);
        isReported = true;
      }
    });
  }

  /** Extends the slots of all runs in one call. */
  async function extendSlots(runs: readonly Run[]): Promise<void> {
    const holding = runs.filter((run) => run.slots !== null && !run.ended);
    if (holding.length === 0) return;
    const askedAt = steadyNow(clock);
    try {
      const slots = holding.flatMap((run) => run.slots!);
      await within(clock, patienceMs, limits!.extend(slots, leaseMs), silent);
      for (const run of holding) run.slotsUntil = askedAt + leaseMs;
    } catch (error) {
      failed('extending slots', error);
    }
  }

  async function round(runs: readonly Run[]): Promise<void> {
    rounds++;
    try {
      await renewLeases(runs);
    } catch (error) {
      failed('renewing', error);
    }
    rounds--;
    if (extending) return;
    extending = true;
    await Promise.all([extendKeys(runs), extendSlots(runs)]);
    extending = false;
  }

  return async () => {
    const runs = held();
    // A lease that was not renewed in time is lost, even if the backend answers later.
    // So is a run whose slots have ended: the next job of the slot must not run beside it.
    for (const run of runs) if (Math.min(run.expiresAt, run.slotsUntil) <= steadyNow(clock)) lose(run);
    if (runs.length > 0 && rounds < mostRounds) void round(runs);
  };
}
