/** The types of batches: options, callbacks, progress. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Jsonified } from './jsonified.ts';
import type { EnqueueOptions, WatchOptions } from './options.ts';
import type { StandardSchema } from './schema.ts';

/** The members of a job that a batch uses. */
export interface JobOfBatch<Input, Output = unknown> {
  readonly name: string;
  readonly schema: StandardSchema<Input, unknown>;
  readonly run: (payload: never, ctx: never) => Output;
}

/** The payload of a batch's callbacks. */
export interface BatchSummary {
  readonly batchId: string;
  readonly name: string;
  readonly total: number;
  readonly succeeded: number;
  /** Children that became dead letters, expired, or were cancelled or removed. */
  readonly failed: number;
}

/** The result of `ctx.waitForBatch`. */
export interface BatchEnd<Result = unknown> {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The results in the order of the items; `null` for a failed child. `null` = the batch was sent without `keepResults`. */
  readonly results: readonly (Result | null)[] | null;
}

/** A job whose payload is a `BatchSummary`, or some of its members. */
export type Callback<Input> = JobOfBatch<Input> & (BatchSummary extends Input ? unknown : never);

/** The payload of `onResults`: the results of all children, in the order of the items, and the members of `resultsPayload`. */
export type BatchResults<Result, With = unknown> = With & {
  readonly batchId: string;
  readonly name: string;
  readonly results: Result[];
};

/** A job whose schema accepts the results. */
export type ResultsCallback<Input, Output, With> = JobOfBatch<Input> &
  (BatchResults<Jsonified<Awaited<Output>>, With> extends Input ? unknown : never);

export type ChildOptions = Omit<
  EnqueueOptions,
  'tx' | 'context' | 'backend' | 'unique' | 'debounce' | 'idempotencyKey'
>;

export interface Child {
  readonly job: JobOfBatch<unknown>;
  readonly payload: unknown;
  readonly options?: ChildOptions & Pick<EnqueueOptions, 'idempotencyKey'>;
}

/** A child whose payload fits its job. */
type Fitting<C> = C extends { readonly job: JobOfBatch<infer Input>; readonly payload: infer Payload }
  ? Payload extends Input
    ? C
    : never
  : never;

/** A child whose result fits the job of `onResults`. */
type Returning<C, Results, With> = C extends { readonly job: JobOfBatch<unknown, infer Output> }
  ? BatchResults<Jsonified<Awaited<Output>>, With> extends Results
    ? unknown
    : never
  : never;

export interface CommonBatchOptions<Success, Failure, Complete> {
  /**
   * 1 to 96 of `A-Z a-z 0-9 . _ -`. If a batch with this id was only partly sent, the call continues it: the items must come in the same
   * order. If it was fully sent, the call sends nothing. @default a new id; in a job, an id derived from the job's id and the batch's name
   */
  readonly id?: string;
  /** How many items are sent to the queue in one call. 1 to 10,000. @default 100 */
  readonly chunkSize?: number;
  /** Enqueued when all children have ended and at most `allowFailures` have failed. */
  readonly onSuccess?: Callback<Success>;
  /** Enqueued when all children have ended and more than `allowFailures` have failed, or the batch was cancelled. */
  readonly onFailure?: Callback<Failure>;
  /** Enqueued when all children have ended, however they ended. */
  readonly onComplete?: Callback<Complete>;
  /** A number of children, or a share like '5%'. @default 0 */
  readonly allowFailures?: number | `${number}%`;
  /** The context of the children and callbacks. @default the context of the current job or request */
  readonly context?: JobContext;
  /** How many children run at the same time, across all workers: 1 to 10,000. @default no limit of its own */
  readonly concurrency?: number;
  /** Keeps the results of the children for `ctx.waitForBatch`. At most 10,000 children. @default false */
  readonly keepResults?: boolean;
}

/** Extra members of the payload of `onResults`: plain JSON data. */
type ExtraPayload = Readonly<Record<string, unknown>>;

export type BatchOptions<
  Item,
  C extends Child = Child,
  Success = unknown,
  Failure = unknown,
  Complete = unknown,
  Output = unknown,
  Results = unknown,
  With extends ExtraPayload = ExtraPayload,
> = CommonBatchOptions<Success, Failure, Complete> & {
  /** Extra members for the payload of `onResults`: plain JSON data. */
  readonly resultsPayload?: With;
} & (
    | {
        /** The job of every child. Each item is the payload of one child. */
        readonly job: JobOfBatch<Item, Output>;
        /** The options of every child. */
        readonly options?: ChildOptions;
        /**
         * Enqueued when all children have completed, with `{ batchId, name, results }` and the members of `resultsPayload`. If a child has failed, it is
         * enqueued only after a retry of that child has succeeded. At most 10,000 children.
         */
        readonly onResults?: ResultsCallback<Results, Output, With>;
        readonly map?: never;
      }
    | {
        /** Turns an item into a child: its job, its payload and its options. */
        readonly map: (item: Item) => C & Fitting<C> & Returning<C, Results, With>;
        readonly onResults?: JobOfBatch<Results>;
        readonly job?: never;
        readonly options?: never;
      }
  );

export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/**
 * Enqueues a job for each item, as one batch. Resolves when all are in the queue. Throws `OPTION` if there are no items, `CONFIG` if no store keeps batches,
 * and `BATCH` if the items or the queue stop half-way: the message says how many were sent and how to continue.
 */
export type SendBatch = <
  Item,
  C extends Child,
  Success = unknown,
  Failure = unknown,
  Complete = unknown,
  Output = unknown,
  Results = unknown,
  // biome-ignore lint/complexity/noBannedTypes: the default has no members
  const With extends ExtraPayload = {},
>(
  name: string,
  items: Items<Item>,
  options: BatchOptions<Item, C, Success, Failure, Complete, Output, Results, With>,
) => Promise<Batch>;

/** The state of a batch. */
export interface Batch {
  readonly id: string;
  readonly name: string;
  /** The tenant in the context of its children and callbacks; `null` = none. Not verified. */
  readonly tenantId: string | null;
  readonly state: 'sending' | 'running' | 'cancelling' | 'complete' | 'cancelled';
  /** How the batch ended; `failed` = more children failed than `allowFailures`. `null` = it has not ended. */
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | null;
  /** The number of children; `null` = not all items were sent yet. */
  readonly total: number | null;
  readonly sent: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The share of children that have ended, 0 to 100; `null` while the batch is being sent. */
  readonly percent: number | null;
  /** Children that ended per second, on average since the batch was made. `null` = none has ended, or some are being retried. */
  readonly perSecond: number | null;
  /** Estimated time until the last child ends, ms; `null` = unknown. */
  readonly etaMs: number | null;
  readonly createdAt: number;
  /** When a child was last sent or ended, epoch ms. */
  readonly changedAt: number;
  readonly completedAt: number | null;
}

export interface Batches {
  /** `null` = the batch is unknown, or no longer kept. */
  get(id: string): Promise<Batch | null>;
  /** Newest first. `max` is the size of a page. @default 100. `after` is the id of the last batch of the previous page. */
  list(page?: { readonly after?: string; readonly max?: number }): Promise<readonly Batch[]>;
  /** Yields the batch each time it changed, and ends with its end. Throws `NOT_FOUND` for an unknown batch. */
  watch(id: string, options?: WatchOptions): AsyncIterable<Batch>;
  /** Cancels the children that have not ended. A call that still sends items throws `CANCELLED`. */
  cancel(id: string): Promise<'cancelled' | 'finished' | 'unknown'>;
  /**
   * Retries the children that are dead letters, and resolves with their number. When they have ended, the callbacks run again.
   * Throws `NOT_FOUND` for an unknown batch, and `BATCH` if it was not fully sent.
   */
  retryFailed(id: string): Promise<number>;
}
