/** Waiting that a signal or a clock ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/base/clock.ts';

/** For `ms`, or until the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** What `work` gives, or what `late` gives or throws when that takes longer; `work` is then left to itself. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  return Promise.race([work, promise.then(late)]).finally(cancel);
}
