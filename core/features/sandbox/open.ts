/** Questions of an isolate that take memory of the worker until they are answered. */

import { LongshoreError } from '../../base/errors.ts';

/** Lets so many run at once, each under a number of its own. @param what for people: `steps, waits and events` */
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
