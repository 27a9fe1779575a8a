/** Pauses a job on all workers: its key is held until the job is resumed, and its jobs wait for that key. */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import { hint } from '../../base/nearest.ts';
import type { LimitStore } from '../../contract/derived/limits.ts';
import type { Admitted, Maybe, Verdict } from '../../kernel/attempt/attempt.ts';
import { lostLease, release, releaseDelayMs } from '../../kernel/attempt/verdict.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { namesIn, type PausedJobs, pausePrefix } from './paused-jobs.ts';
import { ask, most, parkedMs, parkMs, slotOf } from './slots.ts';
import { promoteWaiters, wakeAll } from './wake.ts';

const keyOf = (job: string): string => `${pausePrefix}${job}`;

/** Releases the job until it is resumed. Runs it if it was resumed after `known` was read. */
export async function park(it: Admitted, known: PausedJobs, next: () => Maybe<Verdict>): Promise<Verdict> {
  const { client } = it.ports;
  const slot = slotOf(it, keyOf(it.job.name));
  try {
    // One of many slots, so that all jobs run at once when resumed.
    const answer = await ask(it, slot, most);
    if (!answer.taken) {
      it.run.waitsFor = slot;
      return release(Math.min(parkMs(it, 'concurrency', answer), parkedMs), null);
    }
    known.readAt = -Infinity;
    await promoteWaiters(client, await client.stores.limits!.free([slot]));
  } catch (error) {
    return lostLease(it) ?? release(releaseDelayMs, error);
  }
  return next();
}

/** Resolves with `false` if it was paused already. Throws `OPTION` for a job that the app does not have, `CONFIG` without a store of limits. */
export async function pauseJob(client: Client, job: string): Promise<boolean> {
  const limits = limitsFor(client, job);
  if ((await namesIn(limits)).includes(job)) return false;
  await limits.hold(keyOf(job), Infinity);
  return true;
}

/** Resolves with `false` if it was not paused. Waiting jobs become ready at once. Throws like `pauseJob`. */
export async function resumeJob(client: Client, job: string): Promise<boolean> {
  const resumed = await limitsFor(client, job).reset(keyOf(job));
  await wakeAll(client, keyOf(job));
  return resumed;
}

/** Throws `OPTION` for a job that the app does not have, and `CONFIG` if no store can inform the workers. */
export function limitsFor({ app, backend, stores }: Client, job: string): LimitStore {
  if (!app.jobs.has(job))
    throw new LongshoreError(
      'OPTION',
      `Expected the name of a job, got ${shown(job)}.${hint(job, app.jobs.keys())}`,
    );
  if (stores.limits) return stores.limits;
  throw config(
    `Backend "${backend.name}" keeps nothing that could tell its workers to wait. Give it a store, for example sqliteStore().`,
  );
}
