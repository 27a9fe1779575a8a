/** A clock that stands still until `advance` moves it. */

import type { Clock } from '../../core/base/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time and runs every timer that falls due on the way, in order. */
  advance(ms: number): void;
  /** Sets it, as when the clock of a host is set: it shows another time, and none has passed. */
  set(aheadMs: number): void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** @param startMs epoch ms; the default is an ordinary moment in 2026 */
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
