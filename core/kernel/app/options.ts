/** Options of one `enqueue` call. */

import type { Priority } from '../../base/priority.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { Uniqueness } from './unique.ts';

/** `unique` or `debounce` of a call counts instead of what the job asks for. */
export interface EnqueueOptions extends Uniqueness<string> {
  /** Runs this many ms from now at the earliest. Give either this or `runAt`. */
  readonly delayMs?: number;
  /** Runs at this moment at the earliest; a moment in the past runs at once. */
  readonly runAt?: Date;
  readonly priority?: Priority;
  /** @default the job's own queue */
  readonly queue?: string;
  /** One of those that `connect()` was given by name. @default that of the job, else of its queue, else 'default' */
  readonly backend?: string;
  /** 1 to 256 characters. @default the job's own `idempotencyKey(payload)` */
  readonly idempotencyKey?: string;
  readonly maxRetries?: number;
  /** A label for people. */
  readonly name?: string;
  /**
   * 1 to 256 characters. Jobs of different groups take turns; in a queue with `order: 'group'` those of a group run in order. On
   * backends that have it.
   */
  readonly group?: string;
  /**
   * Enqueues in this transaction: the job exists when it commits, and never if it rolls back. Takes a client of `pg` between BEGIN
   * and COMMIT, or an adapter around another library's transaction. For backends that live in a database.
   */
  readonly tx?: SqlTransaction;
  /** @default the context of the job or request that is running now */
  readonly context?: JobContext;
}

export interface EnqueuedJob {
  readonly id: string;
  readonly queue: string;
  /** Nothing was added: the id is that of the job that stands for this one. */
  readonly duplicate?: true;
  /** The name of the backend that has it, where the app has several. */
  readonly backend?: string;
}
