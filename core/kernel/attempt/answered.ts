import { steadyNow, within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { Attempt } from './attempt.ts';

const longestMs = 30_000;
/** For what is written when the lease is over as far as we know. */
const leastMs = 1_000;

/**
 * What `who` gives. Rejects with `BACKEND` when that takes too long: a lease is renewed while its job waits, so without an end to
 * the wait the slot would be held for ever.
 * @param ms a third of the lease, unless the wait may be long by its nature
 */
export function answered<T>(it: Attempt, who: string, work: Promise<T>, ms?: number): Promise<T> {
  const patienceMs = ms ?? patienceOf(it);
  return within(it.app.clock, patienceMs, work, () => {
    throw new LongshoreError('BACKEND', `${who} gave no answer for ${patienceMs} ms.`);
  });
}

/** A third of what is left of the lease. */
export function patienceOf({ app, run }: Attempt): number {
  const thirdMs = (run.expiresAt - steadyNow(app.clock)) / 3;
  return Math.ceil(Math.min(longestMs, Math.max(leastMs, thirdMs)));
}
