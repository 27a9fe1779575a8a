/** Notices that the npm which has started this process is gone. */

import type { Clock } from '../core/base/clock.ts';

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
