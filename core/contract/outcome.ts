/** How attempts and jobs end, as plain data that every seam shares. */

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

/** What a handler wrote with `ctx.log`. */
export interface LogLine {
  readonly at: number;
  /** The message, then its fields as JSON, with `[masked]` under names that look like secrets. At most 500 characters. */
  readonly text: string;
}

/** A store keeps a report as JSON and never looks inside; a member that is not known here stays. */
export interface AttemptReport {
  /** 1 = first run of the job, over all copies of its message. */
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
  /**
   * The worker's id; of a function its name. It is not known of an attempt whose worker vanished, unless the store was told of
   * its start.
   */
  readonly worker?: string;
  /** Where the worker ran: a host, a log stream of Lambda, an instance of a function app. */
  readonly host?: string;
  /** The last lines it wrote, at most 20. A record lists the last 20 of all its attempts. */
  readonly log?: readonly LogLine[];
}

/** What `onError` and `onDeadLetter` of an app hear beside the error. */
export interface JobFailure {
  readonly id: string;
  /** Empty for a job that is not known or not accepted here. */
  readonly job: string;
  readonly queue: string;
  /** 1 = first run of the job. */
  readonly attempt: number;
  /** `null` for a message that was not verified. */
  readonly maxAttempts: number | null;
  readonly tenantId: string | null;
  /** Of the request that caused the job. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
  readonly outcome: Outcome;
  /** Why the job died; `null` = it runs again. */
  readonly reason: AbandonReason | null;
  /** How long until the next attempt; `null` = there is none. */
  readonly delayMs: number | null;
  /** `false`: the lease was lost, so this outcome changed nothing. */
  readonly settled: boolean;
  /** As it was enqueued, with whatever secrets it holds; `undefined` when it was not verified or not loaded. */
  payload(): unknown;
}

export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string | null;
  readonly at: number;
}

/** What an envelope says of its job, for people. Members with nothing to tell are absent. */
export interface MessageFacts {
  /** A label. */
  readonly name?: string;
  readonly idempotencyKey?: string;
  /** Name of the schedule that enqueued it. */
  readonly schedule?: string;
  /** Of the request that caused it. */
  readonly requestId?: string;
  /** W3C Trace Context. */
  readonly traceparent?: string;
  readonly chain?: ChainFacts;
}

/** Which link of which chain a job is. */
export interface ChainFacts {
  readonly id: string;
  /** Counted from 1. */
  readonly link: number;
  /** Names of the jobs; a list = they run at the same time. */
  readonly links: readonly (string | readonly string[])[];
}
