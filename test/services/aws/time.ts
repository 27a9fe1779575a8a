/** Time for tests on fauxqs, which reads `Date.now()` of this process. */

import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

export interface Time {
  readonly clock: Clock;
  advance(ms: number): Promise<void> | void;
}

/** fauxqs, the SDK and Longshore live by one clock, until `vi.useRealTimers()`. */
export function virtualTime(): Time {
  vi.useFakeTimers({ toFake: ['Date'] });
  const clock = createVirtualClock();
  vi.setSystemTime(clock.now());
  return {
    clock,
    advance(ms) {
      vi.setSystemTime(clock.now() + ms);
      clock.advance(ms);
    },
  };
}

const longestWaitMs = 4_000;

/** For a server whose time is its own: what only an hour would show, it does not show. */
export const realTime: Time = { clock: systemClock, advance: (ms) => sleep(Math.min(ms, longestWaitMs)) };
