/** The jobs that are stopped by a pause or breaker, for people. */

import type { LimitState } from '../../contract/derived/limits.ts';
import type { Stores } from '../../contract/store.ts';
import type { Breaker, StoppedJob } from '../../kernel/app/breaker.ts';
import { breakerPrefix } from '../../kernel/app/limit-keys.ts';
import { stateIn } from './breaker.ts';
import { pausePrefix } from './paused-jobs.ts';

interface Host {
  readonly app: { readonly jobs: ReadonlyMap<string, { readonly breaker: Breaker | null }> };
  readonly stores: Pick<Stores, 'limits'>;
}

/** The most jobs per call. */
const most = 1_000;

/** Empty if no limits are kept. @param only reads just the job of this name */
export async function stoppedJobs({ app, stores: { limits } }: Host, only?: string): Promise<StoppedJob[]> {
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
