/**
 * One virtual time for several processes. Each process has a clock of its own on it, which ends with the process and stands still
 * while the process is frozen.
 */

import type { Clock } from '../../core/base/clock.ts';

export interface ProcessClock extends Clock {
  /** Its timers never run again. */
  kill(): void;
  /** Its timers wait until then (epoch ms). */
  freezeUntil(at: number): void;
}

interface Timer {
  readonly at: number;
  readonly owner: { alive: boolean; frozenUntil: number };
  readonly run: () => void;
}

/** In turns of the event loop. A call of a backend needs two or three of them until its caller makes the next one. */
const quietTurns = 5;

export function createSimClock(startMs = Date.UTC(2026, 0, 15, 12)) {
  let now = startMs;
  let activity = 0;
  const timers = new Set<Timer>();

  function processClock(): ProcessClock {
    const owner = { alive: true, frozenUntil: 0 };
    return {
      now: () => now,
      after(delayMs, run) {
        activity++;
        const timer = { at: now + Math.max(0, Math.ceil(delayMs)), owner, run };
        timers.add(timer);
        return () => timers.delete(timer);
      },
      kill() {
        owner.alive = false;
      },
      freezeUntil(at) {
        owner.frozenUntil = at;
      },
    };
  }

  /** Resolves when nothing goes on any more without time passing. */
  async function quiet(): Promise<void> {
    for (let turns = 0; turns < quietTurns; turns++) {
      const before = activity;
      await new Promise(setImmediate);
      if (activity !== before) turns = -1;
    }
  }

  const dueAt = ({ at, owner }: Timer): number => Math.max(at, owner.frozenUntil);

  function next(until: number): Timer | null {
    let first: Timer | null = null;
    for (const timer of timers) {
      if (!timer.owner.alive) timers.delete(timer);
      else if (dueAt(timer) <= until && (!first || dueAt(timer) < dueAt(first))) first = timer;
    }
    return first;
  }

  return {
    now: () => now,
    processClock,
    /** Something has happened: whoever waits for quiet waits on. */
    stir(): void {
      activity++;
    },
    /** Lets time pass until then, timer by timer, and all that each of them sets off. */
    async runUntil(until: number): Promise<void> {
      await quiet();
      for (let timer = next(until); timer; timer = next(until)) {
        timers.delete(timer);
        now = Math.max(now, dueAt(timer));
        timer.run();
        await quiet();
      }
      now = until;
    },
  };
}

export type SimClock = ReturnType<typeof createSimClock>;
