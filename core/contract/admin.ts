/** What the command line and the dashboard ask of a queue. */

import type { Check, DiagnosisRequest, QueueNeeds } from './diagnosis.ts';
import type { AbandonReason, MessageFacts } from './outcome.ts';

/** Counts are exact up to 10,000; above that a queue may estimate them, so that a long backlog is never read to be counted. */
export interface QueueStats {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
  readonly paused: boolean;
  /** Age of the oldest ready message in ms, of those that come first at least; `null` when none is ready. */
  readonly oldestReadyMs: number | null;
}

export interface PeekedMessage {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly priority: number;
  readonly readyAt: number;
  readonly attempt: number;
}

export interface DeadLetter {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
  readonly body: string;
}

/** What lists show of a dead letter: its text may be large, and holds the payload. */
export interface DeadLetterSummary extends Omit<DeadLetter, 'body'> {
  /** Of its text. */
  readonly bytes: number;
  /** Whose job it was; `null` where its text is not verified and nothing else tells. */
  readonly tenantId: string | null;
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly letters: readonly DeadLetterSummary[];
  /** Where the next page begins; `null` = there is nothing older. */
  readonly next: string | null;
}

/** A message that was signed anew under its id, for its job and its queue. */
export interface Replacement {
  readonly body: string;
  /** What the new text says of its job; absent = nothing. */
  readonly facts?: MessageFacts;
}

export interface DeadLetters {
  /** Newest first. */
  list(filter: { queue?: string; max?: number }): Promise<DeadLetter[]>;
  /**
   * Pages of what `list` lists, without the texts. A letter that is there all the time is on one page, whatever comes and goes
   * meanwhile. `after` is the `next` of an earlier page of the same queue; throws `OPTION` for a text that is none. Absent where a
   * broker can only be asked from its front: `core/kit/records/dead-letter-pages.ts` then makes pages of `list`.
   */
  page?(filter: { queue?: string; max?: number; after?: string }): Promise<DeadLetterPage>;
  /** Absent where a broker finds nothing by its id. */
  get?(id: string): Promise<DeadLetter | null>;
  /**
   * Makes them ready again with their attempts forgotten; returns how many were found. A store beside the queue does not hear of it, as
   * it does from an operator (`longshore/operator`).
   * @param replaced by id, what becomes ready instead of the letter's own text. The letter and what replaces it are never both gone. Throws
   * `LIMIT` before anything changes if one is too large for the queue.
   */
  retry(ids: readonly string[], replaced?: ReadonlyMap<string, Replacement>): Promise<number>;
  discard(ids: readonly string[]): Promise<number>;
}

/** What the CLI and the dashboard use. */
export interface QueueAdmin {
  readonly deadLetters: DeadLetters;
  /** Tells a backend that cannot list its queues which there are, at once. Asks nothing of the service. */
  know?(queues: readonly string[]): void;
  /**
   * Compares the service's own settings of all its queues with what their jobs need. Throws `CONFIG` where they would lose or double
   * jobs, or end them before their last retry. Resolves with what may be wrong and what could not be found out, a sentence each.
   */
  check?(needsOf: (queue: string) => QueueNeeds): Promise<readonly string[]>;
  /** Writes as an enqueue does, and leaves nothing. Rejects as it would where the service takes no jobs: it is full, or read-only. */
  probe?(): Promise<void>;
  /** What `longshore doctor` looks at in this service. Asks nothing yet: each check does. */
  diagnose?(request: DiagnosisRequest): Promise<readonly Check[]>;
  /** `stats` reads the messages to count them, so it must not be asked often. */
  readonly statsScanMessages?: true;
  /** All queues ever used, or only the one named. */
  stats(queue?: string): Promise<QueueStats[]>;
  /** The next messages in the order in which they would be fetched, ready before delayed. */
  peek(queue: string, max: number): Promise<PeekedMessage[]>;
  /**
   * Removes ready and delayed messages; running ones and dead letters stay. Returns how many. Use `clearQueue` of core/operations/forget-jobs.ts, or what
   * is kept elsewhere of these jobs does not hear of it.
   *
   * @param gone is called with the ids of what was removed, in any number of calls, and may be called with some that ended at that moment
   */
  clear(queue: string, gone?: (ids: readonly string[]) => Promise<void>): Promise<number>;
  /** A paused queue gives out no leases until it is resumed; running jobs end normally. */
  setPaused(queue: string, isPaused: boolean): Promise<void>;
}

/** A job that waits in a queue: ready, delayed or between two attempts. */
export interface WaitingJob {
  readonly queue: string;
  readonly id: string;
}

export interface WaitingChange extends Partial<Replacement> {
  /** 0 (first) to 9 (last). Absent = it stays. */
  readonly priority?: number;
  /** Hidden until then (epoch ms); `null` = ready at once. Absent = it stays. */
  readonly notBefore?: number | null;
  /** The text that was read: `false` if the job has another one by now. So of two changes at once none is lost. */
  readonly expectedBody?: string;
}

/** What can be done with jobs that wait. Running and ended ones are left alone. Every verb answers `false` or `null` for a job that does not wait there. */
export interface PendingJobs {
  /**
   * Replaces text, priority or time of each job at once. Its id and its attempts stay. A delayed job that becomes ready takes the place that
   * its age gives it, and wakes a worker. A text is for one job only; throws `LIMIT` before anything changes if it is too large for the queue.
   */
  change(jobs: readonly WaitingJob[], change: WaitingChange): Promise<boolean[]>;
  /** Takes the job out of the queue, with its record: as if it had never been enqueued. */
  remove(job: WaitingJob): Promise<boolean>;
  /** The signed text of a job that waits; `null` = it does not. */
  read(job: WaitingJob): Promise<string | null>;
}
