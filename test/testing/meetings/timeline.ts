/** One time for a whole world: its processes live in it, each with a clock of its own that may be stopped or wrong. */

import type { Clock } from '../../../core/base/clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export type Timeline = ReturnType<typeof createTimeline>;

/** Calls of `setImmediate` without anything new, after which everybody waits for time or for somebody else. */
const quietTurns = 3;

/** A call that a server has not answered after so many others waits for time to pass, too, as for a lock. */
const mostEchoes = 250;
/** With servers there are fewer steps of time: each takes some of ours. */
const grainMs = 500;

const startMs = Date.UTC(2026, 0, 15, 12);

/**
 * @param latencyMs of our time, after which a server that was to say something has said it; 0 = there is none
 * @param echo asks the server for nothing: one that is slow now is slow with that, too
 */
export function createTimeline(latencyMs = 0, echo: () => Promise<unknown> = async () => {}) {
  const timers = new Set<Timer>();
  /** Runs whatever the clocks of hosts say. */
  let elapsedMs = 0;
  /** How far the clock of the host was put forward. */
  let stepMs = 0;
  let activity = 0;
  /** Calls under way, and how many echoes they may outlast. */
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

  /** Until everybody waits for a timer. */
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
    /** Ms since the beginning of the world: a clock that is put forward does not change it. */
    elapsed: () => elapsedMs,
    /** Calls are answered by servers. */
    hasServers: latencyMs > 0,
    settle,
    /** Something has happened: whoever waits for quiet waits on. */
    stir(): void {
      activity++;
    },
    /**
     * What takes time of ours, such as a call to a server: time stands still until it is done, or has outlasted so many echoes.
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
    /** Lets time pass until `isOver` says so, `mostMs` at most. */
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
