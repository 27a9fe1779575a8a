/** What a process remembers of a backend that did not answer: how long it does not ask it. */

import type { Clock } from '../base/clock.ts';
import type { LongshoreError } from '../base/errors.ts';

/** The pause doubles with each call that tries in vain. */
const pauses = { firstMs: 1_000, longestMs: 30_000 };

export interface Outage {
  /**
   * Whether to ask it now: `error` = not yet, that is what it failed with. When a pause is over one call asks, and the others go on as
   * before. `round` tells what came of it to `failed`.
   */
  look(): { readonly error: LongshoreError | null; readonly round: number };
  failed(error: LongshoreError, round: number): void;
  answered(): void;
  /** As `look`, for a call that proves nothing when it is answered: it takes no turn to ask. */
  peek(): { readonly isAway: boolean; readonly round: number };
}

/** @param tell is called with each change: what it failed with first, and `null` when it answers again */
export function createOutage(clock: Clock, tell: (error: LongshoreError | null) => void): Outage {
  let away: { readonly error: LongshoreError; readonly pauseMs: number; until: number } | null = null;
  let round = 0;
  return {
    look() {
      const now = clock.now();
      if (away && now < away.until) return { error: away.error, round };
      if (away) {
        away.until = now + away.pauseMs;
        round++;
      }
      return { error: null, round };
    },
    failed(error, asked) {
      // Of many calls that were under way together the first one counts.
      if (asked !== round) return;
      round++;
      const pauseMs = away ? Math.min(pauses.longestMs, away.pauseMs * 2) : pauses.firstMs;
      if (!away) tell(error);
      away = { error, pauseMs, until: clock.now() + pauseMs };
    },
    answered() {
      if (!away) return;
      away = null;
      round++;
      tell(null);
    },
    peek: () => ({ isAway: away !== null, round }),
  };
}
