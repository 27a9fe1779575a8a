/**
 * A message about new jobs wakes all idle workers, and in a large fleet nearly all look in vain. So a worker that has looked in vain again
 * and again lets some time pass between two looks, and messages that come meanwhile share the next one. A message after a pause is followed
 * at once, and a worker that finds a job follows all messages again: while there is more to do, more workers look at once.
 */

import { type Clock, steadyNow } from '../../../core/base/clock.ts';

/** A process also gets the message about a job that it has taken already. */
const usual = 2;
const stepMs = 20;
const mostMs = 500;

export function createLooksInVain(clock: Clock, random: () => number = Math.random) {
  let inVain = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    /** How long a look waits that a message asks for now, ms. */
    waitMs: (): number => Math.max(0, nextAt - steadyNow(clock)),
    /** Called after each such look. */
    looked(found: boolean): void {
      inVain = found ? 0 : inVain + 1;
      const pauseMs = Math.min(mostMs, stepMs * Math.max(0, inVain - usual));
      nextAt = steadyNow(clock) + pauseMs * (0.5 + random()); // random, so that workers do not look in step
    },
  };
}
