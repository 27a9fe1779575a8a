/** The types of chains: links, how their inputs and outputs fit together, progress. */

import type { JobStatus } from '../../contract/outcome.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { JobRecord } from '../../contract/store.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { JobOfBatch as AnyJob } from './batch.ts';
import type { Jsonified } from './jsonified.ts';
import type { EnqueueOptions } from './options.ts';

/** Options of one link. `delayMs` counts from the end of the previous link. */
export type LinkOptions = Pick<
  EnqueueOptions,
  'queue' | 'priority' | 'delayMs' | 'maxRetries' | 'group' | 'name'
>;

export interface JobWithOptions {
  readonly job: AnyJob<unknown>;
  readonly options?: LinkOptions;
}

type One = AnyJob<unknown> | JobWithOptions;
/** A job, or several that run at the same time. The next link gets a list of their results, in this order. */
export type Link = One | readonly [One, ...One[]];

type JobIn<L> = L extends { readonly job: infer J } ? J : L;
type InputOf<L> = JobIn<L> extends AnyJob<infer Input> ? Input : never;
type OutputOf<L> = JobIn<L> extends AnyJob<unknown, infer Output> ? Jsonified<Awaited<Output>> : never;

/** The payload that a link passes to the next one. */
type HandedBy<L> = L extends readonly One[] ? { -readonly [I in keyof L]: OutputOf<L[I]> } : OutputOf<L>;

type Taking<L, Handed> = L extends readonly One[]
  ? { readonly [I in keyof L]: OneTaking<L[I], Handed> }
  : OneTaking<L, Handed>;
type OneTaking<L, Handed> = [Handed] extends [InputOf<L>] ? L : Mismatch<Handed>;
/** Gives the compiler's message a readable name. */
interface Mismatch<Handed> {
  readonly 'the link before hands on': Handed;
}

/** The links, each checked against the result of the previous one. */
export type Fitting<Links extends readonly unknown[], Handed = unknown> = Links extends readonly [
  infer First,
  ...infer Rest,
]
  ? readonly [unknown extends Handed ? First : Taking<First, Handed>, ...Fitting<Rest, HandedBy<First>>]
  : readonly [];

/** The payload of the first link. */
export type FirstInput<Links extends readonly unknown[]> = Links extends readonly [infer First, ...unknown[]]
  ? First extends readonly One[]
    ? AllOf<{ [I in keyof First]: { readonly takes: InputOf<First[I]> } }[number]>
    : InputOf<First>
  : never;
type AllOf<Boxes extends { readonly takes: unknown }> = (
  Boxes extends Boxes
    ? (box: Boxes) => void
    : never
) extends (box: infer All) => void
  ? All extends { readonly takes: infer Input }
    ? Input
    : never
  : never;

export interface ChainOptions {
  /** 1 to 72 of `A-Z a-z 0-9 . _ -`. A chain whose first link is already known is not started again. @default a new id */
  readonly id?: string;
  /** The context of all links. @default the context of the running job or request */
  readonly context?: JobContext;
  /** The transaction for the first link, as for `enqueue()`. The first link must then be a single job. */
  readonly tx?: SqlTransaction;
}

export interface StartedChain<Links extends readonly unknown[] = readonly Link[]> {
  readonly id: string;
  /** The job id of each link, known before the job is enqueued. A link of several jobs has a list. */
  readonly ids: {
    readonly [I in keyof Links]: Links[I] extends readonly unknown[]
      ? { readonly [J in keyof Links[I]]: string }
      : string;
  };
  /** Nothing was started: a chain with this id already exists. */
  readonly duplicate?: true;
}

/**
 * Enqueues the first job with `payload`, and each further job with the result of the previous one. Throws as `enqueue()`; `OPTION` for an
 * empty chain; `CONFIG` for jobs of several backends, for a unique job, and for a link of several jobs if no store keeps batches.
 */
export type SendChain = <const Links extends readonly [Link, ...Link[]]>(
  links: Links & Fitting<Links>,
  payload: NoInfer<FirstInput<Links>>,
  options?: ChainOptions,
) => Promise<StartedChain<Links>>;

export interface ChainedJobView {
  readonly id: string;
  readonly job: string;
  /** `null` = the job was not enqueued yet, or its record was deleted. */
  readonly record: JobRecord | null;
}

export interface ChainLinkView {
  /** Counted from 1. */
  readonly link: number;
  /** A link of several jobs is `completed` when all of them are. `null` = no job was enqueued yet, or their records were deleted. */
  readonly status: JobStatus | null;
  readonly jobs: readonly ChainedJobView[];
}

/** The state of a chain, read from the records of its jobs. */
export interface Chain {
  readonly id: string;
  readonly state: 'running' | 'completed' | 'failed' | 'cancelled' | 'expired';
  /** The link that runs or waits, or else the last one that ended; counted from 1. */
  readonly link: number;
  readonly links: readonly ChainLinkView[];
}

export interface Chains {
  /** `null` = the chain is unknown, or no longer kept. Throws `CONFIG` if no records are kept. */
  get(id: string): Promise<Chain | null>;
  /** Cancels the waiting or running link, so that no further link starts. */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
}
