import { steadyNow, within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { Attempt } from './attempt.ts';

const longestMs = 30_000;
/** The shortest wait, for writes after the lease has ended by our clock. */
const leastMs = 1_000;

/**
 * Resolves as `work`. Rejects with `BACKEND` if it takes too long: the lease is renewed while its job waits, so without a time limit
 * the slot would be held for ever.
 * @param ms the time limit. @default a third of the rest of the lease
 */
export function answered<T>(it: Attempt, who: string, work: Promise<T>, ms?: number): Promise<T> {
  const patienceMs = ms ?? patienceOf(it);
  return within(it.app.clock, patienceMs, work, () => {
    throw new LongshoreError('BACKEND', `${who} gave no answer for ${patienceMs} ms.`);
  });
}

/** A third of the rest of the lease, in ms. */
export function patienceOf({ app, run }: Attempt): number {
  const thirdMs = (run.expiresAt - steadyNow(app.clock)) / 3;
  return Math.ceil(Math.min(longestMs, Math.max(leastMs, thirdMs)));
}
