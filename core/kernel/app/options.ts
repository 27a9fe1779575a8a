/** Options of one `enqueue` call. */

import type { Priority } from '../../base/priority.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { Uniqueness } from './unique.ts';

/** `unique` or `debounce` of a call replaces the one of the job. */
export interface EnqueueOptions extends Uniqueness<string> {
  /** The job runs this many ms from now at the earliest. Give either this or `runAt`. */
  readonly delayMs?: number;
  /** The job runs at this time at the earliest. A time in the past means at once. */
  readonly runAt?: Date;
  /** An integer from 0 (runs first) to 9, or `critical`, `high`, `normal`, `low`. @default the job's own priority */
  readonly priority?: Priority;
  /** The queue that the job goes to. @default the job's own queue */
  readonly queue?: string;
  /** The name of a backend that was passed to `connect()`. @default the backend of the job, else of its queue, else 'default' */
  readonly backend?: string;
  /** 1 to 256 characters. @default the job's own `idempotencyKey(payload)` */
  readonly idempotencyKey?: string;
  /** How many times a failed job is retried. @default the job's own `maxRetries` */
  readonly maxRetries?: number;
  /** A label for people, shown in lists of jobs. */
  readonly name?: string;
  /**
   * 1 to 256 characters. Jobs of different groups take turns. In a queue with `order: 'group'` the jobs of a group run in order. Not
   * every backend supports groups.
   */
  readonly group?: string;
  /**
   * Enqueues in this transaction: the job exists once it commits, and never if it rolls back. Pass a client of `pg` between BEGIN and
   * COMMIT, or an adapter around another library's transaction. Only for backends in a database.
   */
  readonly tx?: SqlTransaction;
  /** Tenant, actor, request and trace. @default the context of the current job or request */
  readonly context?: JobContext;
}

export interface EnqueuedJob {
  readonly id: string;
  readonly queue: string;
  /** Nothing was enqueued: `id` is the id of the earlier job. */
  readonly duplicate?: true;
  /** The name of the job's backend, if the app has several. */
  readonly backend?: string;
}

export interface WatchOptions {
  /** Ends the watch with an error: the reason of the signal. */
  readonly signal?: AbortSignal;
}
