/** Middleware: user code that runs around every attempt, or around every call that enqueues. */

import { config, shown } from '../../base/errors.ts';
import type { SendResult } from '../../contract/queue.ts';
import type { AttemptMiddleware } from './job.ts';

/** One call of `enqueue` or `enqueueMany`, or one request over HTTP. */
export interface EnqueueCall {
  /** The backend's name. */
  readonly backend: string;
  /** The job's name; `null` = the call has several jobs. */
  readonly job: string | null;
  /** `null` = the call has several queues. */
  readonly queue: string | null;
  /** The number of jobs in the call. */
  readonly count: number;
}

/**
 * Runs around a call that enqueues. The jobs carry the `currentContext()` in which `next()` is called: `withContext(other, next)`
 * changes it. `next()` resolves with one result per job, in order, refused jobs included. It rejects if the backend cannot be reached.
 */
export type EnqueueMiddleware = (
  call: EnqueueCall,
  next: () => Promise<SendResult[]>,
) => Promise<SendResult[]>;

/** A function runs around each attempt. An object may also have a function that runs around calls that enqueue. */
export type Middleware =
  | AttemptMiddleware
  | { readonly attempt?: AttemptMiddleware; readonly enqueue?: EnqueueMiddleware };

export interface MiddlewareLists {
  readonly attempt: readonly AttemptMiddleware[];
  readonly enqueue: readonly EnqueueMiddleware[];
}

/** Throws `CONFIG` unless each is a function or an object of functions. */
export function middlewareOf(use: readonly Middleware[] = []): MiddlewareLists {
  const lists = { attempt: [] as AttemptMiddleware[], enqueue: [] as EnqueueMiddleware[] };
  for (const one of [use].flat()) {
    const parts: Record<string, unknown> = typeof one === 'function' ? { attempt: one } : (one ?? {});
    const names = Object.keys(parts) as (keyof MiddlewareLists)[];
    if (
      names.length === 0 ||
      !names.every((name) => Object.hasOwn(lists, name) && typeof parts[name] === 'function')
    )
      throw config(
        `createApp() expects use to be a list of functions (ctx, next) or { attempt, enqueue }, got ${shown(one)}.`,
      );
    for (const name of names) lists[name].push(parts[name] as never);
  }
  return lists;
}
