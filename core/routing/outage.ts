/** The state of a backend that did not answer: how long this process does not ask it again. */

import type { Clock } from '../base/clock.ts';
import type { LongshoreError } from '../base/errors.ts';

/** The pause doubles with each failed try. */
const pauses = { firstMs: 1_000, longestMs: 30_000 };

export interface Outage {
  /**
   * Whether to ask the backend now. `error` = not yet: its last error. After a pause one call asks, and the others still get `error`.
   * Pass `round` to `failed`.
   */
  look(): { readonly error: LongshoreError | null; readonly round: number };
  failed(error: LongshoreError, round: number): void;
  answered(): void;
  /** As `look`, for a call whose answer proves nothing: it does not count as the one call that asks. */
  peek(): { readonly isAway: boolean; readonly round: number };
}

/** @param tell called with the first error of an outage, and with `null` when the backend answers again */
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
      // If several calls of a round fail, only the first one counts.
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
