/** What lists and records tell of a job, beside what routes its message. */

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
