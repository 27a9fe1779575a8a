/** Limits the open questions of an isolate, which take the worker's memory until they are answered. */

import { LongshoreError } from '../../base/errors.ts';

/** Lets at most `most` run at once, each under its own number. @param what for the message: `steps, waits and events` */
export function createOpen(most: number, what: string) {
  const open = new Set<number>();
  return async <T>(ask: number, work: () => Promise<T>): Promise<T> => {
    if (open.has(ask)) throw new LongshoreError('OPTION', 'Expected a new number for each question.');
    if (open.size >= most)
      throw new LongshoreError(
        'LIMIT',
        `Expected at most ${most} ${what} of an isolated handler at once, got more. Await some before you begin others.`,
      );
    open.add(ask);
    try {
      return await work();
    } finally {
      open.delete(ask);
    }
  };
}
