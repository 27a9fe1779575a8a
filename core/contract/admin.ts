/** The administration of a queue: statistics, dead letters, pauses. The CLI and the dashboard use it. */

import type { Check, DiagnosisRequest, QueueNeeds } from './diagnosis.ts';
import type { AbandonReason, MessageFacts } from './outcome.ts';

/** Counts are exact up to 10,000. Above that a queue may estimate them instead of reading a long backlog. */
export interface QueueStats {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
  readonly paused: boolean;
  /** Age of the oldest ready message in ms, at least of those that are fetched first; `null` when none is ready. */
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

/** A dead letter without its body, for lists: the body may be large and holds the payload. */
export interface DeadLetterSummary extends Omit<DeadLetter, 'body'> {
  /** Size of the body. */
  readonly bytes: number;
  /** Tenant of the job; `null` if the body is not verified and no other source names the tenant. */
  readonly tenantId: string | null;
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly letters: readonly DeadLetterSummary[];
  /** Where the next page begins; `null` = there is nothing older. */
  readonly next: string | null;
}

/** A message that was signed again, with the same id, job and queue. */
export interface Replacement {
  readonly body: string;
  /** Facts of the new body; absent = none. */
  readonly facts?: MessageFacts;
}

export interface DeadLetters {
  /** Newest first. */
  list(filter: { queue?: string; max?: number }): Promise<DeadLetter[]>;
  /**
   * The same letters as `list`, in pages and without bodies. A letter that exists the whole time is on exactly one page, even if others come and
   * go. `after` is the `next` of an earlier page for the same queue; any other text throws `OPTION`. Absent where a broker can only be read from
   * its front: `core/kit/records/dead-letter-pages.ts` then builds the pages from `list`.
   */
  page?(filter: { queue?: string; max?: number; after?: string }): Promise<DeadLetterPage>;
  /** Absent where a broker cannot look a message up by id. */
  get?(id: string): Promise<DeadLetter | null>;
  /**
   * Makes the letters ready again with their attempts reset; returns how many were found. A store that is separate from the queue is not
   * updated; `longshore/operator` does that.
   * @param replaced by id, the new body that becomes ready instead of the letter's own. At no moment are both the letter and its replacement
   * gone. Throws `LIMIT` before any change if one is too large for the queue.
   */
  retry(ids: readonly string[], replaced?: ReadonlyMap<string, Replacement>): Promise<number>;
  discard(ids: readonly string[]): Promise<number>;
}

/** Queue operations for the CLI and the dashboard. */
export interface QueueAdmin {
  readonly deadLetters: DeadLetters;
  /** Gives the names of the queues to a backend that cannot list them. Takes effect at once and makes no request to the service. */
  know?(queues: readonly string[]): void;
  /**
   * Compares the service's settings of all its queues with the needs of their jobs. Throws `CONFIG` for settings that would lose or double jobs,
   * or end them before their last retry. Resolves with one sentence per setting that may be wrong or could not be read.
   */
  check?(needsOf: (queue: string) => QueueNeeds): Promise<readonly string[]>;
  /** Makes a write like an enqueue, and leaves nothing behind. Rejects as the enqueue would, for example if the service is full or read-only. */
  probe?(): Promise<void>;
  /** The checks of `longshore doctor` for this service. This call makes no request; each check does when it runs. */
  diagnose?(request: DiagnosisRequest): Promise<readonly Check[]>;
  /** `stats` has to read the messages to count them. Do not call it often. */
  readonly statsScanMessages?: true;
  /** All queues that were ever used, or only the given one. */
  stats(queue?: string): Promise<QueueStats[]>;
  /** The next messages, in the order in which they would be fetched: ready ones before delayed ones. */
  peek(queue: string, max: number): Promise<PeekedMessage[]>;
  /**
   * Removes ready and delayed messages; running jobs and dead letters stay. Returns how many were removed. Call `clearQueue` of
   * core/operations/forget-jobs.ts instead if other stores keep state of these jobs: it cleans that up, too.
   *
   * @param gone is called one or more times with the ids of removed messages; some of them may have ended at that moment
   */
  clear(queue: string, gone?: (ids: readonly string[]) => Promise<void>): Promise<number>;
  /** A paused queue gives out no leases until it is resumed. Running jobs end normally. */
  setPaused(queue: string, isPaused: boolean): Promise<void>;
}

/** A job that waits in a queue: ready, delayed or between two attempts. */
export interface WaitingJob {
  readonly queue: string;
  readonly id: string;
}

export interface WaitingChange extends Partial<Replacement> {
  /** 0 (first) to 9 (last). Absent = unchanged. */
  readonly priority?: number;
  /** Hidden until then (epoch ms); `null` = ready at once. Absent = unchanged. */
  readonly notBefore?: number | null;
  /** The body that the caller has read. If the job has another body by now, the answer is `false`. So no concurrent change is lost. */
  readonly expectedBody?: string;
}

/** Operations on waiting jobs. Running and ended jobs stay as they are: for a job that is not waiting, every operation answers `false` or `null`. */
export interface PendingJobs {
  /**
   * Replaces body, priority or time of each job, atomically per job. Id and attempts stay. A delayed job that becomes ready is queued by its
   * age, and wakes a worker. A `body` may be given for one job only; throws `LIMIT` before any change if it is too large for the queue.
   */
  change(jobs: readonly WaitingJob[], change: WaitingChange): Promise<boolean[]>;
  /** Removes the job and its record, as if it had never been enqueued. */
  remove(job: WaitingJob): Promise<boolean>;
  /** The signed body of a waiting job; `null` = the job is not waiting. */
  read(job: WaitingJob): Promise<string | null>;
}
