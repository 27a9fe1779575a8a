/**
 * The state seams: what must be remembered beside the queue. Each is small; one module may offer all.
 * Every write that belongs to a run names its owner (the lease's token), and a stale owner changes nothing.
 */

import type { Outcome } from '../base/events.ts';
import type { Replacement, WaitingChange } from './admin.ts';
import type { AuditLog } from './derived/audit.ts';
import type { BatchStore } from './derived/batches.ts';
import type { LimitStore } from './derived/limits.ts';
import type { MetricStore } from './derived/metrics.ts';
import type { ScheduleStore } from './derived/schedules.ts';
import type { StepStore } from './derived/steps.ts';
import type { Check, DiagnosisRequest } from './diagnosis.ts';
import type {
  AbandonReason,
  AttemptReport,
  ChainFacts,
  JobStatus,
  MessageFacts,
  Progress,
} from './outcome.ts';
import type { TextStore } from './texts.ts';

export interface JobRecord {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  /** The tenant in whose context it was enqueued. */
  readonly tenantId: string | null;
  /** A label for people. */
  readonly name: string | null;
  readonly idempotencyKey: string | null;
  /** Name of the schedule that enqueued it. */
  readonly schedule: string | null;
  /** Of the request that caused it. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
  /** Absent = it is no link of a chain. */
  readonly chain?: ChainFacts;
  readonly status: JobStatus;
  readonly priority: number;
  readonly createdAt: number;
  /** When it may run (again); for a finished job when it last could. */
  readonly runAt: number;
  readonly finishedAt: number | null;
  /** When the attempt began that runs. Only in a store beside the queue, which may never hear of its end. */
  readonly startedAt?: number;
  /** `null` = not known yet: the first attempt tells it when it ends. */
  readonly maxAttempts: number | null;
  /** The last ones, at most 30. */
  readonly attempts: readonly AttemptReport[];
  readonly progress: Progress | null;
  /** What the handler returned, parsed. */
  readonly output: unknown;
  readonly reason: AbandonReason | null;
  readonly error: string | null;
}

export type KeyClaim =
  /** Ours until `holdUntil`; `value` is what the last owner left with `release`. */
  | { readonly state: 'claimed'; readonly value: string | null }
  | { readonly state: 'running'; readonly until: number }
  | { readonly state: 'completed'; readonly value: string | null };

/** Serves the idempotency guard, cron ticks and overlap locks. */
export interface KeyStore {
  /** Takes the key unless another owner holds it or it is completed. The same owner may claim again. */
  claim(key: string, owner: string, holdUntil: number): Promise<KeyClaim>;
  extend(key: string, owner: string, holdUntil: number): Promise<boolean>;
  complete(key: string, owner: string, done: { value: string | null; keepUntil: number }): Promise<boolean>;
  /** Gives the key up; with `keep` its value stays readable for the next owner until `keepUntil`. */
  release(key: string, owner: string, keep?: { value: string; keepUntil: number }): Promise<boolean>;
}

export type CancelResult = 'cancelled' | 'cancelling' | 'finished' | 'unknown';

export interface Retention {
  /** How long a completed or cancelled job stays readable; 0 = removed when it ends. */
  readonly completedMs: number;
  /** How long a dead letter (failed, rejected or expired) is kept. */
  readonly deadMs: number;
}

/** All that is given must hold. Texts are compared as they are: case counts. */
export interface RecordFilter {
  readonly queue?: string;
  readonly job?: string;
  readonly status?: JobStatus;
  readonly tenantId?: string;
  readonly idempotencyKey?: string;
  readonly schedule?: string;
  /** The id begins with it. */
  readonly idPrefix?: string;
  /** Created at this moment or later. */
  readonly createdFrom?: number;
  /** Created before this moment. */
  readonly createdBefore?: number;
  /** One of the listed attempts ran on this worker, or on this host. */
  readonly worker?: string;
  /** A piece of the record's `error`, or of the message of the error of a listed attempt. */
  readonly error?: string;
  /** @default 100 */
  readonly max?: number;
}

export interface RecordPage {
  /** Newest first. */
  readonly records: readonly JobRecord[];
  /**
   * Where the next page begins; `null` = there is nothing older. A page may have fewer records than `max`, even none, and go on: a call
   * looks at some 10,000 records at most.
   */
  readonly next: string | null;
}

export interface EndWatch {
  /** Whether every end is heard now. While it is `false`, whoever waits looks as often as without a watch. */
  readonly hears: boolean;
  /** Ends the watch, and leaves nothing of it. */
  stop(): void;
}

export interface RecordStore {
  get(id: string): Promise<JobRecord | null>;
  /**
   * Pages by creation, newest first. Each job that is there all the time is on one page, whatever comes and goes meanwhile. `after` is the
   * `next` of an earlier page with the same filter; throws `OPTION` for a text that is none.
   */
  page(filter: RecordFilter & { readonly after?: string }): Promise<RecordPage>;
  /**
   * The signed text of a job with `keepPayload`, which nothing has verified. Where the queue itself keeps the record, also of a job that has
   * not ended and of a dead letter. `null` = the job is not known, or its text is not kept.
   */
  body(id: string): Promise<string | null>;
  /** Only the run that holds the lease may report; `false` = it no longer does. */
  progress(id: string, token: string, progress: Progress): Promise<boolean>;
  /** Cancels a waiting job at once. A running one is marked; its worker sees the mark and aborts it. */
  cancel(id: string): Promise<CancelResult>;
  /** Those of the given running jobs that are marked for cancelling. */
  cancelRequested(ids: readonly string[]): Promise<string[]>;
  /**
   * Removes finished records older than given (without it: than the store's own retention), and keys past their time. A record that is
   * kept longer or shorter than the store's retention (`keepMs`) is kept longer or shorter than a given age by the same time.
   * Never touches a live job. Works in bounded steps: returns how many it removed; call it until that is 0.
   */
  purge(olderThan?: Retention): Promise<number>;
  /**
   * Calls `look` soon after the job has ended, however it has, and each time that `hears` changes: a job may have ended before. It may
   * call in vain, and a call may be lost: what `get` says is the truth. Never throws. Absent where nobody hears of an end.
   */
  watchEnd?(job: Pick<JobRecord, 'id' | 'queue'>, look: () => void): EndWatch;
  /** It answers as if there had never been a job: nothing can be read from it. */
  readonly recordsDisabled?: true;
  /** For queues that keep no records themselves. Without it the store learns from its own queue what happens to a job. */
  readonly writer?: RecordWriter;
}

/** What every write says of its job, because none can rely on another one having arrived before. */
export interface RecordedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly tenantId: string | null;
  readonly priority: number;
  readonly createdAt: number;
  readonly runAt: number;
  readonly facts?: MessageFacts;
  /** Given when the record shall keep it, for `RecordStore.body`. */
  readonly body?: string;
}

export interface AttemptStart {
  /** The lease's token. */
  readonly owner: string;
  readonly attempt: number;
  readonly at: number;
  /** As in `AttemptReport`. */
  readonly worker?: string;
  readonly host?: string;
}

export interface AttemptEnd {
  /** Its `startedAt` is the `at` of its start. */
  readonly report: AttemptReport;
  /** `false`: released as if the attempt had never begun, so it is not listed. */
  readonly counted: boolean;
  /** When it may run again; `null` = the job has ended. */
  readonly runAt: number | null;
  /** Why it ended; `null` = it is completed, or it may run again. */
  readonly reason: AbandonReason | null;
  readonly error: string | null;
  /** Of a job that has ended: how long its record is kept, in place of the retention of the store. */
  readonly keepMs?: number;
}

export interface Begun {
  readonly cancelled: boolean;
  /** The attempt before this one never reported its end: its worker died or lost the lease. */
  readonly interrupted: boolean;
}

/**
 * Told by the sending side and by every attempt. Each write may come twice, late, or before the one that should precede it:
 * a report of an older attempt or a stale owner never overwrites a newer state, it only fills in its own line.
 * A failure here never changes what happens to the job.
 */
export interface RecordWriter {
  /** The queue has taken them. A job that is known already stays as it is. */
  enqueued(jobs: readonly RecordedJob[]): Promise<void>;
  /** An attempt begins. A job that is marked for cancelling ends with this call instead, and must not run. */
  started(job: RecordedJob, start: AttemptStart): Promise<Begun>;
  /** The queue has settled the attempt. */
  settled(job: RecordedJob, owner: string, end: AttemptEnd): Promise<void>;
  /**
   * Dead letters were made ready again. Jobs that have not died, and those that are not known, stay as they are.
   * @param replaced by id, their new texts: a record that keeps the text keeps the new one
   */
  retried?(ids: readonly string[], replaced?: ReadonlyMap<string, Replacement>): Promise<void>;
  /** A job that waits was changed. One that does not wait, or is not known, stays as it is. */
  changed?(id: string, change: WaitingChange): Promise<void>;
}

export interface RunningJob {
  readonly id: string;
  readonly job: string;
  /** Of this attempt, epoch ms. */
  readonly startedAt: number;
}

export interface WorkerBeat {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly running: number;
  /** Settlements since it started. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Attempts that failed since it started. Workers of an older version tell neither these nor their jobs. */
  readonly failed?: number;
  /** What runs now, longest first, 20 at most; `running` counts all. */
  readonly jobs?: readonly RunningJob[];
  readonly memoryBytes: number;
  /** `true` = it takes no more jobs, and stops when those that run have ended, or after its `drainMs`. */
  readonly draining?: boolean;
}

/** What others want of a worker. */
export interface WorkerOrders {
  /** `drain` was called for it. */
  readonly drain: boolean;
}

/** Forgets workers that were not seen for 5 minutes; core/kit/worker-state.ts says what a heartbeat means. */
export interface WorkerRegistry {
  /** Resolves with what others want of this worker, until it is removed; a registry that knows of no such wishes with nothing. */
  // biome-ignore lint/suspicious/noConfusingVoidType: registries that resolve with nothing are complete
  heartbeat(beat: WorkerBeat): Promise<WorkerOrders | void>;
  /** Workers seen since then, oldest first. */
  list(seenSince: number): Promise<WorkerBeat[]>;
  remove(id: string): Promise<void>;
  /** Wants this worker to drain; its next heartbeat tells it. Again is the same. `false` = there is no worker of this id. */
  drain?(id: string): Promise<boolean>;
}

/**
 * Keeps payloads that are too large for the queue. Keys are 1 to 160 of `A-Z a-z 0-9 . _ -` and name one payload each. A payload is
 * removed once its job is done, and kept with a dead letter; what is left over (a message that was never sent, a dead letter
 * that was discarded) is for the store's own lifecycle rule, which must not be shorter than a message may live.
 */
export interface PayloadStore {
  /** Resolves when it is kept for good. A second call with the same key replaces it, or finds it there. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** `null` = there is none. Of one with more than `maxBytes` any bytes may be given back: its digest will refuse them. */
  get(key: string, maxBytes: number): Promise<Uint8Array | null>;
  /** Resolves also when there was none. */
  delete(key: string): Promise<void>;
}

/** What the kit makes of texts (`core/kit/texts`). A backend may have one of its own, where that is faster. */
export interface DerivedStores {
  readonly workers: WorkerRegistry;
  readonly metrics: MetricStore;
  readonly audit: AuditLog;
  readonly limits: LimitStore;
  readonly steps: StepStore;
  readonly batches: BatchStore;
  readonly schedules: ScheduleStore;
}

/** What a backend or a store gives: keys, records and texts, and payloads where they may be large. */
export interface BackendStores extends Partial<DerivedStores> {
  readonly keys: KeyStore;
  readonly records: RecordStore;
  /**
   * Without them it has only those of `DerivedStores` that it gives itself. Without metrics no numbers are kept, without an audit log nothing
   * remembers who did what, and without schedules they are in code only. Limits, steps and batches are refused.
   */
  readonly texts?: TextStore;
  /** Without it a payload that is too large for the queue is refused. */
  readonly payloads?: PayloadStore;
  /** Brings its tables to the version this code knows, where opening has not done so. `from` is null for new ones. */
  migrate?(): Promise<{ readonly from: number | null; readonly to: number }>;
  /** As `QueueAdmin.diagnose`, of a store that stands beside a queue. */
  diagnose?(request: DiagnosisRequest): Promise<readonly Check[]>;
  /** Ends the store's own connections. May be called again. */
  close?(): Promise<void>;
}

/** What a client has: with all that is made of texts. */
export interface Stores extends BackendStores {
  readonly workers: WorkerRegistry;
}
