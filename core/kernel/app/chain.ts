/** The types of chains: links, how their inputs and outputs fit together, progress. */

import type { JobStatus } from '../../contract/outcome.ts';
import type { SqlTransaction } from '../../contract/queue.ts';
import type { JobRecord } from '../../contract/store.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import type { JobOfBatch as AnyJob } from './batch.ts';
import type { Jsonified } from './jsonified.ts';
import type { EnqueueOptions } from './options.ts';

/** Options of one link. A delay starts when the previous link has completed. */
export type LinkOptions = Pick<
  EnqueueOptions,
  'queue' | 'priority' | 'delayMs' | 'maxRetries' | 'group' | 'name'
>;

export interface JobWithOptions {
  readonly job: AnyJob<unknown>;
  readonly options?: LinkOptions;
}

type One = AnyJob<unknown> | JobWithOptions;
/** A job, or several that run at the same time: the link after them is given a list of what they return, in this order. */
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
/** For the compiler's message. */
interface Mismatch<Handed> {
  readonly 'the link before hands on': Handed;
}

/** The links, where each takes what the one before it hands on. */
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
  /** 1 to 72 of `A-Z a-z 0-9 . _ -`. A chain whose first link is known already is not started again. @default a new one */
  readonly id?: string;
  /** The context of all links. @default the context of the running job or request */
  readonly context?: JobContext;
  /** As of `enqueue()`: for the first link, which must be one job. */
  readonly tx?: SqlTransaction;
}

export interface StartedChain<Links extends readonly unknown[] = readonly Link[]> {
  readonly id: string;
  /** The ids of the jobs of each link, known before they are enqueued. A link of several jobs has a list. */
  readonly ids: {
    readonly [I in keyof Links]: Links[I] extends readonly unknown[]
      ? { readonly [J in keyof Links[I]]: string }
      : string;
  };
  /** Nothing was started: the first link is known already. */
  readonly duplicate?: true;
}

/**
 * Enqueues the first job with `payload`, and each further one with what the one before has returned. Throws as `enqueue()`, `OPTION` for an
 * empty chain, and `CONFIG` for jobs of several backends, for a unique one, and for jobs at the same time where no batches are kept.
 */
export type SendChain = <const Links extends readonly [Link, ...Link[]]>(
  links: Links & Fitting<Links>,
  payload: NoInfer<FirstInput<Links>>,
  options?: ChainOptions,
) => Promise<StartedChain<Links>>;

export interface ChainedJobView {
  readonly id: string;
  readonly job: string;
  /** `null` = it was not enqueued yet, or is no longer kept. */
  readonly record: JobRecord | null;
}

export interface ChainLinkView {
  /** Counted from 1. */
  readonly link: number;
  /** A link of several jobs is `completed` when all of them are. `null` = none was enqueued yet, or their records were deleted. */
  readonly status: JobStatus | null;
  readonly jobs: readonly ChainedJobView[];
}

/** The state of a chain, read from the records of its jobs. */
export interface Chain {
  readonly id: string;
  readonly state: 'running' | 'completed' | 'failed' | 'cancelled' | 'expired';
  /** The link that runs, waits, or was the last one to end; counted from 1. */
  readonly link: number;
  readonly links: readonly ChainLinkView[];
}

export interface Chains {
  /** `null` = it is not known, or no longer kept. Throws `CONFIG` where no records are kept. */
  get(id: string): Promise<Chain | null>;
  /** Cancels the link that waits or runs, so that no further one begins. */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
}
