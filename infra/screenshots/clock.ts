/** A clock that moves only when it is advanced: an hour of work is drawn in seconds, with the same result every time. */

import type { Clock } from '../../core/base/clock.ts';

export interface MovedClock extends Clock {
  /** Runs due timers in order, and waits after each until their work is done. */
  advance(ms: number): Promise<void>;
}

export function movedClock(startMs: number): MovedClock {
  let now = startMs;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    after(delayMs, run) {
      const timer = { at: now + Math.max(0, Math.round(delayMs)), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      const target = now + ms;
      for (;;) {
        await new Promise(setImmediate);
        const at = Math.min(...[...timers].map((timer) => timer.at));
        if (at > target) break;
        now = Math.max(now, at);
        for (const timer of timers) {
          if (timer.at > now) continue;
          timers.delete(timer);
          timer.run();
        }
      }
      now = target;
    },
  };
}

/** Pseudo-random numbers from 0 to 1, the same every time (mulberry32). */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
