/** Waits for a signal, a clock or the end of the parent process. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/base/clock.ts';

export { within } from '../core/base/clock.ts';

/** Waits for `ms`, or until the signal aborts. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {});

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const lookMs = 500;
/** Read at the start of the process, because npm may end soon after. */
const parent = process.ppid;

/**
 * npm 11 ends at SIGTERM and does not pass the signal on, so its child would continue to run jobs. Calls `gone` when npm has ended.
 * Returns a function that ends the watch.
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
