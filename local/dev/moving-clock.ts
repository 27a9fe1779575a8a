/** A clock that can be moved ahead, with everything that waits for it. */

import type { Clock } from '../../core/base/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
  cancel(): void;
}

export function movingClock({ now: realNow, after }: Clock): Clock & { skip(ms: number): void } {
  let aheadMs = 0;
  const timers = new Set<Timer>();
  const now = () => realNow() + aheadMs;

  function arm(timer: Timer): void {
    timers.add(timer);
    timer.cancel = after(Math.max(0, timer.at - now()), () => {
      timers.delete(timer);
      timer.run();
    });
  }
  return {
    now,
    after(delayMs, run) {
      const timer: Timer = { at: now() + delayMs, run, cancel() {} };
      arm(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    skip(ms) {
      aheadMs += ms;
      for (const timer of [...timers]) {
        timer.cancel();
        arm(timer);
      }
    },
  };
}
