/** A clock that moves only by `advance`. */

import type { Clock } from '../../core/base/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time forward and runs every timer that is due on the way, in order. */
  advance(ms: number): void;
  /** Changes the shown time like a clock adjustment of a host: no time passes. */
  set(aheadMs: number): void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** @param startMs epoch ms. @default 2026-01-15T12:00:00Z */
export function createVirtualClock(startMs = Date.UTC(2026, 0, 15, 12)): VirtualClock {
  let now = startMs;
  let aheadMs = 0;
  const timers = new Set<Timer>();
  return {
    now: () => now + aheadMs,
    steadyNow: () => now,
    set(ms) {
      aheadMs = ms;
    },
    after(delayMs, run) {
      const timer = { at: now + Math.max(0, delayMs), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    advance(ms) {
      const target = now + ms;
      for (;;) {
        let next: Timer | undefined;
        for (const timer of timers) {
          if (timer.at <= target && (!next || timer.at < next.at)) next = timer;
        }
        if (!next) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.run();
      }
      now = target;
    },
  };
}
