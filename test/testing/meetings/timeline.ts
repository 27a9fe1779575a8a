/** The virtual time of a world. Each of its processes has a clock on it, which may be stopped or wrong. */

import type { Clock } from '../../../core/base/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export type Timeline = ReturnType<typeof createTimeline>;

/** After this many turns of `setImmediate` without activity, all processes count as waiting. */
const quietTurns = 3;

/** A call that is unanswered after this many echoes counts as waiting for time to pass, for example for a lock. */
const mostEchoes = 250;
/** Minimum step of time with servers, because each step takes real time. */
const grainMs = 500;

const startMs = Date.UTC(2026, 0, 15, 12);

/**
 * @param latencyMs real time within which a server sends its messages; 0 = no server
 * @param echo a call to the server without effect, which is as slow as the server is now
 */
export function createTimeline(latencyMs = 0, echo: () => Promise<unknown> = async () => {}) {
  const timers = new Set<Timer>();
  /** Time since the beginning, independent of the clocks of hosts. */
  let elapsedMs = 0;
  /** How far the clock of the host was set forward. */
  let stepMs = 0;
  let activity = 0;
  /** Running calls, and how many more echoes time stands still for each. */
  const calls = new Set<{ echoes: number }>();

  function next(): number | null {
    let at: number | null = null;
    for (const timer of timers) if (at === null || timer.at < at) at = timer.at;
    return at;
  }

  function advanceTo(target: number): void {
    for (;;) {
      let first: Timer | null = null;
      for (const timer of timers) if (timer.at <= target && (!first || timer.at < first.at)) first = timer;
      if (!first) break;
      timers.delete(first);
      elapsedMs = Math.max(elapsedMs, first.at);
      first.run();
    }
    elapsedMs = Math.max(elapsedMs, target);
  }

  /** Waits until all processes wait for a timer. */
  async function settle(): Promise<void> {
    if (latencyMs > 0) await settleWithServers();
    for (let quiet = 0; quiet < quietTurns; ) {
      const before = activity;
      await new Promise((resolve) => setImmediate(resolve));
      const isBusy = calls.size > 0 && latencyMs === 0;
      quiet = !isBusy && activity === before ? quiet + 1 : 0;
    }
  }

  async function settleWithServers(): Promise<void> {
    for (;;) {
      const before = activity;
      await Promise.all([new Promise((resolve) => setTimeout(resolve, latencyMs)), echo()]);
      let isBusy = false;
      for (const call of calls) if (call.echoes-- > 0) isBusy = true;
      if (!isBusy && activity === before) return;
    }
  }

  const clock: Clock = {
    now: () => Math.floor(startMs + elapsedMs + stepMs),
    after(delayMs, run) {
      activity++;
      const timer = { at: elapsedMs + Math.max(0, delayMs), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };

  return {
    clock,
    /** Ms since the beginning of the world, not changed by `stepForward`. */
    elapsed: () => elapsedMs,
    /** Whether servers answer calls. */
    hasServers: latencyMs > 0,
    settle,
    /** Reports activity, so that `settle` continues to wait. */
    stir(): void {
      activity++;
    },
    /**
     * Awaits work that takes real time, such as a call to a server. Virtual time stands still until it is done, or for this many echoes.
     */
    async during<T>(work: Promise<T>, echoes = mostEchoes): Promise<T> {
      const call = { echoes };
      calls.add(call);
      try {
        return await work;
      } finally {
        calls.delete(call);
        activity++;
      }
    },
    isStepped: () => stepMs !== 0,
    stepForward(ms: number): void {
      stepMs += ms;
    },
    /** Lets time pass until `isOver` returns true, but at most `mostMs`. */
    async until(isOver: () => boolean | Promise<boolean>, mostMs: number): Promise<boolean> {
      const end = elapsedMs + mostMs;
      for (;;) {
        await settle();
        if (await isOver()) return true;
        if (elapsedMs >= end) return false;
        const least = latencyMs > 0 ? elapsedMs + grainMs : 0;
        advanceTo(Math.min(Math.max(next() ?? end, least), end));
      }
    },
  };
}
