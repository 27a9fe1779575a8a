/** Time is injected, so that a test can control it. */

import { crypto } from './crypto.ts';

export interface Clock {
  /** Epoch ms. */
  now(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
  /** For a clock that only a test moves: lets other work of this process continue. @default `after` */
  pause?(ms: number): Promise<void>;
  /**
   * A monotonic clock for deadlines within this process: setting the host's clock does not change it. Compare its values only with each other.
   * @default now
   */
  steadyNow?(): number;
}

/** Waits for others that need only milliseconds. */
export const pause = (clock: Clock, ms: number): Promise<void> =>
  clock.pause?.(ms) ?? new Promise((resolve) => void clock.after(ms, resolve));

/** Resolves after `ms`, or when the signal aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener('abort', end);
  });
}

/** Resolves or rejects as `work` does, or after `ms` as `late` does; `work` then continues unobserved. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(Math.max(0, ms), resolve);
  return Promise.race([work, promise.then(late)]).finally(cancel);
}

export const steadyNow = (clock: Clock): number => (clock.steadyNow ?? clock.now)();

/** The same clock in monotonic time, for state that lives only in this process. */
export const steadyClock = (clock: Clock): Clock => ({ now: () => steadyNow(clock), after: clock.after });

/** `setTimeout` holds 31 bits; a longer delay would fire at once. */
const longestTimerMs = 2_147_483_647;

/** The last moment that a `Date` can hold. */
export const latestMs = 8.64e15;

/** Looked up once: `performance` is a getter, and costs as much as the time itself. */
let steady: { readonly performance: typeof performance; readonly originMs: number } | null = null;

export const systemClock: Clock = {
  now: Date.now,
  steadyNow() {
    steady ??= { performance, originMs: performance.timeOrigin };
    return steady.originMs + steady.performance.now();
  },
  after(delayMs, run) {
    if (delayMs > longestTimerMs) {
      let cancel = systemClock.after(longestTimerMs, () => {
        cancel = systemClock.after(delayMs - longestTimerMs, run);
      });
      return () => cancel();
    }
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * UUID version 7 (RFC 9562 §5.7): sortable by creation time, so an index on ids grows at its end.
 * 74 of its bits are random.
 */
export function uuidv7(now: number): string {
  if (now !== front.at) front = { at: now, text: frontOf(now) };
  // A version 4 UUID has its random bits in the same places; only the front and the version differ.
  return front.text + crypto().randomUUID().slice(15);
}

function frontOf(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

/** The front of the last id, cached: the ids of a large batch share a few fronts. */
let front = { at: 0, text: frontOf(0) };
