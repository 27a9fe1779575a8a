/** The types of batches: options, callbacks, progress. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Jsonified } from './jsonified.ts';
import type { EnqueueOptions } from './options.ts';
import type { StandardSchema } from './schema.ts';

/** Any job, as far as a batch looks at it. */
export interface JobOfBatch<Input, Output = unknown> {
  readonly name: string;
  readonly schema: StandardSchema<Input, unknown>;
  readonly run: (payload: never, ctx: never) => Output;
}

/** The payload of the jobs that a batch calls at its end. */
export interface BatchSummary {
  readonly batchId: string;
  readonly name: string;
  readonly total: number;
  readonly succeeded: number;
  /** Dead letters, and children that were cancelled, have expired, or were removed. */
  readonly failed: number;
}

/** The result of `ctx.waitForBatch`. */
export interface BatchEnd<Result = unknown> {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The results of the children in their order, with `null` for each failed one. `null` = the batch was sent without `keepResults`. */
  readonly results: readonly (Result | null)[] | null;
}

/** A job whose schema takes a `BatchSummary`, or less. */
export type Callback<Input> = JobOfBatch<Input> & (BatchSummary extends Input ? unknown : never);

/** The payload of `onResults`: what all children have returned, in the order of the items, and what `resultsPayload` has. */
export type BatchResults<Result, With = unknown> = With & {
  readonly batchId: string;
  readonly name: string;
  readonly results: Result[];
};

/** A job whose schema takes the results. */
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

/** A child whose payload is one of its job. */
type Fitting<C> = C extends { readonly job: JobOfBatch<infer Input>; readonly payload: infer Payload }
  ? Payload extends Input
    ? C
    : never
  : never;

/** A child that returns what the job of `onResults` takes. */
type Returning<C, Results, With> = C extends { readonly job: JobOfBatch<unknown, infer Output> }
  ? BatchResults<Jsonified<Awaited<Output>>, With> extends Results
    ? unknown
    : never
  : never;

export interface CommonBatchOptions<Success, Failure, Complete> {
  /**
   * 1 to 96 of `A-Z a-z 0-9 . _ -`. Of a batch that was not sent to its end: it goes on there, and the items must come in the same order. Of one
   * that was: nothing is sent. @default a new one; in a job one that is made of the job's id and the name
   */
  readonly id?: string;
  /** How many items are sent in one call. 1 to 10,000. @default 100 */
  readonly chunkSize?: number;
  /** Enqueued when all children have ended and no more have failed than `allowFailures`. */
  readonly onSuccess?: Callback<Success>;
  /** Enqueued when all children have ended and more have failed, or the batch was cancelled. */
  readonly onFailure?: Callback<Failure>;
  /** Enqueued when all children have ended. */
  readonly onComplete?: Callback<Complete>;
  /** A number of children, or a share like '5%'. @default 0 */
  readonly allowFailures?: number | `${number}%`;
  /** @default the context of the job or request that is running now */
  readonly context?: JobContext;
  /** How many children run at the same time, across all workers: 1 to 10,000. @default as many as there are free slots */
  readonly concurrency?: number;
  /** Keeps what the children return for `ctx.waitForBatch`, 10,000 children at most. @default false */
  readonly keepResults?: boolean;
}

/** Beside the results in the payload of `onResults`: plain JSON data. */
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
  /** Further members of the payload of `onResults`. */
  readonly resultsPayload?: With;
} & (
    | {
        /** Each item is the payload of one. */
        readonly job: JobOfBatch<Item, Output>;
        /** The options of every child. */
        readonly options?: ChildOptions;
        /**
         * Enqueued when all children have completed, with `{ batchId, name, results }` and what `resultsPayload` has. Not where one of them has failed, before it
         * is retried. 10,000 children at most.
         */
        readonly onResults?: ResultsCallback<Results, Output, With>;
        readonly map?: never;
      }
    | {
        /** Makes the child of an item: its job, its payload, and options of its own. */
        readonly map: (item: Item) => C & Fitting<C> & Returning<C, Results, With>;
        readonly onResults?: JobOfBatch<Results>;
        readonly job?: never;
        readonly options?: never;
      }
  );

export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/**
 * Enqueues a job for each item, as one batch. Resolves when all are in the queue. Throws `OPTION` for no item at all, `CONFIG` where batches are not kept,
 * `BATCH` when the items or the queue stop half-way: the message says how many were sent and how to go on.
 */
export type SendBatch = <
  Item,
  C extends Child,
  Success = unknown,
  Failure = unknown,
  Complete = unknown,
  Output = unknown,
  Results = unknown,
  // biome-ignore lint/complexity/noBannedTypes: nothing, where nothing is given
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
  /** The context of its children and callbacks; `null` = none. It was not verified. */
  readonly tenantId: string | null;
  readonly state: 'sending' | 'running' | 'cancelling' | 'complete' | 'cancelled';
  /** How it ended: `failed` = more children failed than may. `null` = it has not. */
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | null;
  /** `null` = not all items were sent yet. */
  readonly total: number | null;
  readonly sent: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The share of children that have ended, 0 to 100; `null` while the batch is being sent. */
  readonly percent: number | null;
  /** Children that ended, on average since it was made. `null` = none has, or some are retried. */
  readonly perSecond: number | null;
  /** How long the rest takes at that rate; `null` = it is not known. */
  readonly etaMs: number | null;
  readonly createdAt: number;
  /** When a child was last sent or ended. */
  readonly changedAt: number;
  readonly completedAt: number | null;
}

export interface Batches {
  /** `null` = it is not known, or no longer kept. */
  get(id: string): Promise<Batch | null>;
  /** Newest first, 100 without `max`. `after` is the id of the last one of the page before. */
  list(page?: { readonly after?: string; readonly max?: number }): Promise<readonly Batch[]>;
  /** Cancels the children that have not ended. Its importer cannot send further items. */
  cancel(id: string): Promise<'cancelled' | 'finished' | 'unknown'>;
  /**
   * Retries the dead letters among the children; the callbacks run again after them. Resolves with how many it
   * were. Throws `NOT_FOUND`, and `BATCH` for one that was not sent to its end.
   */
  retryFailed(id: string): Promise<number>;
}
