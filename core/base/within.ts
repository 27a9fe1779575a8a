/** An end for what may take for ever. */

import type { Clock } from './clock.ts';

/** What `work` gives, or what `late` gives or throws when that takes longer; `work` is then left to itself. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(Math.max(0, ms), resolve);
  return Promise.race([work, promise.then(late)]).finally(cancel);
}
