/** Which jobs do not run, and why, for people. */

import type { LimitState } from '../contract/limits.ts';
import type { Client } from '../enqueue/client.ts';
import { breakerPrefix, stateIn } from './breaker.ts';
import { pausePrefix } from './paused-jobs.ts';

export interface StoppedJob {
  readonly job: string;
  /** By a person, or by its breaker: none begins until `until`, or one is being tried. */
  readonly state: 'paused' | 'open' | 'trying';
  /** Epoch ms; `null` = until it is resumed, or until one has succeeded. */
  readonly until: number | null;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** Jobs that have asked, and wait. Others of the kind may be in the queue. */
  readonly waiting: number;
}

/** In one call. */
const most = 1_000;

/** None where no limits are kept. @param only of this name, without reading what else there is */
export async function stoppedJobs(
  { app, stores: { limits } }: Pick<Client, 'app' | 'stores'>,
  only?: string,
): Promise<StoppedJob[]> {
  if (!limits) return [];
  const [pauses, breakers] = await Promise.all(
    only === undefined
      ? [limits.list({ prefix: pausePrefix, max: most }), limits.list({ prefix: breakerPrefix, max: most })]
      : [
          limits.list({ prefix: `${pausePrefix}${only}`, max: 1 }),
          limits.list({ prefix: `${breakerPrefix}${only}:`, max: 2 }),
        ],
  );
  const stopped = pauses
    .filter(({ key, heldUntil }) => heldUntil !== null && (only === undefined || key === pausePrefix + only))
    .map(({ key, waiting }): StoppedJob => {
      return { job: key.slice(pausePrefix.length), state: 'paused', until: null, failures: 0, waiting };
    });
  const byJob = Map.groupBy(breakers, ({ key }) => key.slice(breakerPrefix.length, key.lastIndexOf(':')));
  for (const [job, found] of byJob) {
    const { failures, isHeld } = stateIn(found, job);
    const open: LimitState | undefined = found.find(({ key }) => key.endsWith(':open'));
    if (isHeld || failures >= (app.jobs.get(job)?.breaker?.failures ?? Infinity))
      stopped.push({
        job,
        state: isHeld ? 'open' : 'trying',
        until: open?.heldUntil ?? null,
        failures,
        waiting: open?.waiting ?? 0,
      });
  }
  return stopped;
}
