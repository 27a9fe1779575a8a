/** What may be said of one job when it is enqueued. */

import { config, shown } from '../base/errors.ts';
import type { SqlTransaction } from '../contract/queue.ts';
import type { JobContext } from '../envelope/envelope.ts';

/** Lower runs first. A job waits as if it had come one hour earlier or later per level, so nothing starves. */
export const priorities = { critical: 0, high: 2, normal: 5, low: 8 } as const;
export type Priority = keyof typeof priorities | number;

export interface EnqueueOptions {
  /** Not before so many ms from now. Not together with `runAt`. */
  readonly delayMs?: number;
  /** Not before this moment; a past one runs at once. */
  readonly runAt?: Date;
  readonly priority?: Priority;
  /** Instead of the job's own queue. */
  readonly queue?: string;
  /** Instead of the job's own `idempotencyKey(payload)`. At most 256 characters. */
  readonly idempotencyKey?: string;
  readonly maxRetries?: number;
  /** A label for people. */
  readonly name?: string;
  /** Order and fairness per key, on backends that have it. */
  readonly group?: string;
  /**
   * Enqueues as a part of this transaction: the job comes to be when it commits, or never. A client of `pg` between BEGIN and
   * COMMIT, or an adapter around another library's transaction; for backends that live in a database.
   */
  readonly tx?: SqlTransaction;
  /** @default the context of the job or request that is running now */
  readonly context?: JobContext;
}

export interface EnqueuedJob {
  readonly id: string;
  readonly queue: string;
}

export function priorityOf(priority: Priority): number {
  const value = typeof priority === 'string' ? priorities[priority] : priority;
  if (Number.isInteger(value) && value >= 0 && value <= 9) return value;
  const names = Object.keys(priorities).join(', ');
  throw config(`A priority is an integer from 0 (first) to 9 or one of ${names}, got ${shown(priority)}.`);
}
