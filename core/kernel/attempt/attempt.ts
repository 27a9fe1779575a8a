/** The types of an attempt, and of the steps around its run and its end. */

import type { Outcome } from '../../base/events.ts';
import type { AttemptError } from '../../base/failure.ts';
import type { AbandonReason, AttemptReport } from '../../contract/outcome.ts';
import type { Ack, JobSettler, KeyCompletion } from '../../contract/queue.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { App } from '../app/app.ts';
import type { Isolation } from '../app/isolation.ts';
import type { HandlerContext, Job } from '../app/job.ts';
import type { Client } from '../enqueue/client.ts';
import type { Output } from './output.ts';
import type { Run } from './run.ts';

export interface AttemptPorts {
  readonly client: Client;
  /** The worker and host that run it, for its report. */
  readonly by?: Required<Pick<AttemptReport, 'worker' | 'host'>>;
  readonly settler: Pick<JobSettler, 'ack' | 'nack' | 'abandon'>;
  /** Used instead of the settler's `ack`, to group the acks of several attempts. */
  readonly ack?: (ack: Ack) => Promise<boolean>;
  /** Called when the handler has ended and only settling is left. */
  readonly handled?: (run: Run) => void;
}

export interface AttemptResult {
  readonly id: string | null;
  readonly job: string | null;
  readonly outcome: Outcome;
  /** `false` = the lease was no longer ours, so nothing was changed. */
  readonly settled: boolean;
  readonly attempt: number;
  readonly delayMs: number | null;
  readonly reason: AbandonReason | null;
  readonly error: AttemptError | null;
  /** The memory of its isolate in bytes; `null` = the job ran in the worker. */
  readonly memoryBytes: number | null;
  /** `false` = the job was released without spending the attempt. */
  readonly counted: boolean;
  readonly durationMs: number;
  /** How long the job was ready before its first attempt began, ms; `null` for later attempts and for a refused job. */
  readonly waitMs: number | null;
}

/** The state of one attempt. */
export interface Attempt {
  readonly app: App;
  readonly ports: AttemptPorts;
  readonly run: Run;
  /** When the attempt began, epoch ms. */
  readonly startedAt: number;
  /** The number of the attempt over all copies of the message; 1 = the first. */
  readonly number: number;
  /** `null` = the message is forged, or was copied from another queue. */
  readonly envelope: Envelope | null;
  /** `null` = the job is unknown or not accepted here. */
  readonly job: Job | null;
  /** Why the job may not run here and now; `null` = it may. */
  readonly refusal: Verdict | null;
  /** The payload as the job's schema returned it. The handler gets it. */
  payload: unknown;
}

/** An attempt that may run. */
export interface Admitted extends Attempt {
  readonly envelope: Envelope;
  readonly job: Job;
}

/** The decision on how an attempt ends: one kind per settle verb. */
export type Verdict =
  | {
      readonly verb: 'ack';
      readonly outcome: 'acked' | 'skipped-idempotent';
      readonly output: string | null;
      /** Why the handler's return value is not kept as `output`; absent = it is kept. */
      readonly problem?: string;
    }
  | {
      readonly verb: 'nack';
      readonly outcome: 'requeued';
      readonly delayMs: number;
      readonly countAttempt: boolean;
      readonly error: unknown;
    }
  | {
      readonly verb: 'abandon';
      readonly outcome: 'dead-lettered' | 'rejected';
      readonly reason: AbandonReason;
      readonly error: unknown;
    }
  | { readonly verb: 'nothing'; readonly outcome: 'requeued'; readonly error: unknown };

/** How an attempt ends, for the queue, the record and the key. */
export interface End {
  readonly verdict: Verdict;
  readonly report: AttemptReport;
  /** Completes the idempotency key in the same transaction as the ack. */
  readonly complete?: KeyCompletion;
}

/** A promise only if there is something to wait for, so that most jobs run without an extra promise. */
export type Maybe<T> = T | Promise<T>;

/** Runs around the handler, around the settlement, or around both. */
export interface Step {
  /** Whether this attempt needs the step. If not, it is skipped. */
  for(it: Attempt): boolean;
  /** May return a verdict without calling `next`: then the handler does not run. */
  run?(it: Admitted, next: () => Maybe<Verdict>): Maybe<Verdict>;
  /** Resolves with `false` if the lease or the key was lost. Then nothing was settled. */
  settle?(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Maybe<boolean>;
}

/** The steps that features add to attempts. The order of a list is the order from the outside in. */
export interface Steps {
  readonly beforeTheCheck: readonly RunStep[];
  readonly aroundTheRun: readonly RunStep[];
  readonly aroundTheEnd: readonly EndStep[];
  /** Whether a job that comes after its expiry has already begun, for example with a step. */
  readonly hasBegun: readonly ((it: Admitted) => Maybe<boolean>)[];
  /** Runs a handler in a thread or process of its own. */
  readonly isolate: RunInIsolate;
}

/** Rejects with the handler's error, or with the reason why its isolate ended. @param input the payload before the schema */
export type RunInIsolate = (
  app: App,
  job: Job,
  isolation: Isolation,
  input: unknown,
  ctx: HandlerContext,
  attempt: AttemptSide,
) => Promise<Output>;

/** The parts of an attempt that its isolate needs. */
export interface AttemptSide {
  /** Throws if the handler must not begin any more. */
  begin(): void;
  /** Reports the memory of the isolate. */
  used(bytes: number): void;
}

export const stepsOf = ({ installed }: App): Steps => installed.steps as Steps;

export type RunStep = Step & Required<Pick<Step, 'run'>>;
export type EndStep = Step & Required<Pick<Step, 'settle'>>;
