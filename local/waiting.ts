/** Waiting that a signal, a clock or the end of this process's parent ends. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/base/clock.ts';

export { within } from '../core/base/clock.ts';

/** For `ms`, or until the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const lookMs = 500;
/** Read when the process begins: npm may end while it starts. */
const parent = process.ppid;

/**
 * npm 11 ends at SIGTERM and hands nothing on: what it has started would go on with jobs when all believe that it has stopped. Returns how to
 * end the watch.
 */
export function watchParent(clock: Clock, gone: () => void): () => void {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  let cancel = () => {};
  const look = () => {
    cancel = clock.after(lookMs, () => (process.ppid === parent ? look() : gone()));
  };
  look();
  return () => cancel();
}
