/** How attempts and jobs end, as plain data that all backends and stores share. */

import type { Outcome } from '../base/events.ts';
import type { AttemptError } from '../base/failure.ts';

/** Why a message will never run again. All but `cancelled` are listed as dead letters. */
export type AbandonReason = 'permanent' | 'exhausted' | 'crash-loop' | 'rejected' | 'expired' | 'cancelled';

export type JobStatus =
  | 'pending'
  | 'processing'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'expired';

/** A line that a handler wrote with `ctx.log`. */
export interface LogLine {
  readonly at: number;
  /** The message, then its fields as JSON, with `[masked]` under names that look like secrets. At most 500 characters. */
  readonly text: string;
}

/** A store keeps a report as JSON and must not parse it, so unknown members are kept, too. */
export interface AttemptReport {
  /** 1 = first run of the job; counted over all copies of its message. */
  readonly attempt: number;
  /** How many runs the job may have. */
  readonly maxAttempts?: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `interrupted` is written for an attempt whose worker vanished. */
  readonly outcome: Outcome | 'interrupted';
  readonly error: AttemptError | null;
  /** JSON text of what the handler returned; `null` when it returned nothing. */
  readonly output: string | null;
  /** The worker's id; in a function, the function's name. Unknown for an attempt whose worker vanished, unless the store got its start. */
  readonly worker?: string;
  /** Where the worker ran: a host, a log stream of Lambda, an instance of a function app. */
  readonly host?: string;
  /** The last lines of this attempt, at most 20. A record lists the last 20 lines of all its attempts. */
  readonly log?: readonly LogLine[];
}

/** Details that `onError` and `onDeadLetter` of an app receive with the error. */
export interface JobFailure {
  readonly id: string;
  /** Empty if the job is not known or not accepted here. */
  readonly job: string;
  readonly queue: string;
  /** 1 = first run of the job. */
  readonly attempt: number;
  /** `null` for a message that was not verified. */
  readonly maxAttempts: number | null;
  readonly tenantId: string | null;
  /** Id of the request that caused the job. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
  readonly outcome: Outcome;
  /** Reason of the dead letter; `null` = the job runs again. */
  readonly reason: AbandonReason | null;
  /** Delay until the next attempt; `null` = there is none. */
  readonly delayMs: number | null;
  /** `false` = the lease was lost, so this outcome had no effect. */
  readonly settled: boolean;
  /** The payload as it was enqueued, including any secrets; `undefined` if it was not verified or not loaded. */
  payload(): unknown;
}

export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string | null;
  readonly at: number;
}

/** Facts about the job from its envelope, for people. Members without a value are absent. */
export interface MessageFacts {
  /** A label for people. */
  readonly name?: string;
  readonly idempotencyKey?: string;
  /** Name of the schedule that enqueued it. */
  readonly schedule?: string;
  /** Id of the request that caused the job. */
  readonly requestId?: string;
  /** W3C Trace Context. */
  readonly traceparent?: string;
  readonly chain?: ChainFacts;
}

/** The position of a job in its chain. */
export interface ChainFacts {
  readonly id: string;
  /** Counted from 1. */
  readonly link: number;
  /** Names of the jobs; a list = these run at the same time. */
  readonly links: readonly (string | readonly string[])[];
}
