/** Time that a test has in its hand: timers of the system's time, so that it need not say how long anything takes, and steps of virtual time. */

import { type Clock, systemClock } from '../../core/base/clock.ts';
import type { VirtualClock } from '../testing/virtual-clock.ts';

const halfAnHourMs = 1_800_000;

/** Its timers never fire: nobody looks by himself, gives up or tries again. */
export const frozenTimers: Clock = { now: Date.now, after: () => () => {} };

/** Timers of half an hour and longer wait until `fire` is called; the others are real. */
export function heldTimers(): Clock & { fire(): void } {
  const held = new Set<() => void>();
  return {
    now: Date.now,
    after(delayMs, run) {
      if (delayMs < halfAnHourMs) return systemClock.after(delayMs, run);
      held.add(run);
      return () => held.delete(run);
    },
    fire() {
      for (const run of held) {
        held.delete(run);
        run();
      }
    },
  };
}

/** Timers fire at once, or nearly; `asked` has how long each was to take. */
export function hurriedTimers(): Clock & { readonly asked: readonly number[] } {
  const asked: number[] = [];
  return {
    now: Date.now,
    asked,
    after(delayMs, run) {
      asked.push(delayMs);
      return systemClock.after(Math.min(delayMs, 5), run);
    },
  };
}

/** Lets so much virtual time pass in small steps, with the turns that a look takes. */
export async function pass(
  { clock }: { readonly clock: Pick<VirtualClock, 'advance'> },
  ms: number,
  stepMs = 50,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await new Promise(setImmediate);
  }
}
