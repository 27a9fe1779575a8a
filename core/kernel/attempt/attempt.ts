/** One attempt, and the steps that stand around its run and its end. */

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
  /** Who runs it, for its report. */
  readonly by?: Required<Pick<AttemptReport, 'worker' | 'host'>>;
  readonly settler: Pick<JobSettler, 'ack' | 'nack' | 'abandon'>;
  /** Instead of the settler's `ack`, where the acks of several attempts are grouped. */
  readonly ack?: (ack: Ack) => Promise<boolean>;
  /** Called when the handler has ended and only settling is left. */
  readonly handled?: (run: Run) => void;
}

export interface AttemptResult {
  readonly id: string | null;
  readonly job: string | null;
  readonly outcome: Outcome;
  /** `false`: the lease was no longer ours, so nothing was changed. */
  readonly settled: boolean;
  readonly attempt: number;
  readonly delayMs: number | null;
  readonly reason: AbandonReason | null;
  readonly error: AttemptError | null;
  /** What its isolate took, in bytes; `null` = it ran in the worker. */
  readonly memoryBytes: number | null;
  /** `false`: released as if the attempt had never begun. */
  readonly counted: boolean;
  readonly durationMs: number;
  /** How long the job was ready before its first attempt began; `null` for later attempts, and for one that was refused. */
  readonly waitMs: number | null;
}

/** What is known of one attempt. */
export interface Attempt {
  readonly app: App;
  readonly ports: AttemptPorts;
  readonly run: Run;
  /** When the attempt began, epoch ms. */
  readonly startedAt: number;
  /** 1 = first run, over all copies of the message. */
  readonly number: number;
  /** `null` for a message that is not this job's own: forged, or copied from another queue. */
  readonly envelope: Envelope | null;
  /** `null` for a job that is not known or not accepted here. */
  readonly job: Job | null;
  /** Why it may not run here and now; `null` = it may. */
  readonly refusal: Verdict | null;
  /** What the handler gets: the payload as its schema returned it. */
  payload: unknown;
}

/** An attempt that may run. */
export interface Admitted extends Attempt {
  readonly envelope: Envelope;
  readonly job: Job;
}

/** How an attempt shall end; each kind maps to one settle verb. */
export type Verdict =
  | {
      readonly verb: 'ack';
      readonly outcome: 'acked' | 'skipped-idempotent';
      readonly output: string | null;
      /** Why what the handler returned is not kept as `output`; absent = it is. */
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

/** How an attempt ends: what the queue, the record and the key have to know. */
export interface End {
  readonly verdict: Verdict;
  readonly report: AttemptReport;
  /** Is done in the same transaction as the ack. */
  readonly complete?: KeyCompletion;
}

/** A promise only where something has to be waited for: most jobs then run without a further one. */
export type Maybe<T> = T | Promise<T>;

/** Stands around the run, around the settlement, or around both. */
export interface Step {
  /** Whether this attempt needs it; the others do not pass it. */
  for(it: Attempt): boolean;
  /** May answer instead of the handler. */
  run?(it: Admitted, next: () => Maybe<Verdict>): Maybe<Verdict>;
  /** Resolves with `false` when the lease or the key was lost: then nothing was settled. */
  settle?(it: Attempt, end: End, next: (end: End) => Maybe<boolean>): Maybe<boolean>;
}

/** What the features of an app put around its attempts: each step stands where it has to for what it promises. */
export interface Steps {
  readonly beforeTheCheck: readonly RunStep[];
  readonly aroundTheRun: readonly RunStep[];
  readonly aroundTheEnd: readonly EndStep[];
  /** Whether an attempt of a job that comes too late has begun its work. */
  readonly hasBegun: readonly ((it: Admitted) => Maybe<boolean>)[];
  /** Runs a handler in a thread or process of its own. */
  readonly isolate: RunInIsolate;
}

/** Rejects with what the handler threw, or with why its isolate ended. @param input the payload as it travelled */
export type RunInIsolate = (
  app: App,
  job: Job,
  isolation: Isolation,
  input: unknown,
  ctx: HandlerContext,
  attempt: AttemptSide,
) => Promise<Output>;

/** The attempt, as far as its isolate needs it. */
export interface AttemptSide {
  /** Throws when the handler must not begin any more. */
  begin(): void;
  /** Called with how much memory the isolate took. */
  used(bytes: number): void;
}

export const stepsOf = ({ installed }: App): Steps => installed.steps as Steps;

export type RunStep = Step & Required<Pick<Step, 'run'>>;
export type EndStep = Step & Required<Pick<Step, 'settle'>>;
