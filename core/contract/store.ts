/**
 * The stores: state that is kept beside the queue. Each is small; one module may provide all of them. Every write that belongs to a run names
 * its owner (the lease's token), and a stale owner changes nothing.
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
  /** The tenant of the context in which it was enqueued. */
  readonly tenantId: string | null;
  /** A label for people. */
  readonly name: string | null;
  readonly idempotencyKey: string | null;
  /** Name of the schedule that enqueued it. */
  readonly schedule: string | null;
  /** Id of the request that caused the job. */
  readonly requestId: string | null;
  /** W3C Trace Context. */
  readonly traceparent: string | null;
  /** Absent = the job is not part of a chain. */
  readonly chain?: ChainFacts;
  readonly status: JobStatus;
  readonly priority: number;
  readonly createdAt: number;
  /** When it may run (again); for a finished job, when it last could. */
  readonly runAt: number;
  readonly finishedAt: number | null;
  /** When the running attempt began. Only in a store that is separate from the queue, because such a store may never learn of the end. */
  readonly startedAt?: number;
  /** `null` = not known yet: the end of the first attempt reports it. */
  readonly maxAttempts: number | null;
  /** The last attempts, at most 30. */
  readonly attempts: readonly AttemptReport[];
  readonly progress: Progress | null;
  /** The value that the handler returned, parsed from JSON. */
  readonly output: unknown;
  readonly reason: AbandonReason | null;
  readonly error: string | null;
}

export type KeyClaim =
  /** The caller owns the key until `holdUntil`; `value` is what the last owner kept with `release`. */
  | { readonly state: 'claimed'; readonly value: string | null }
  | { readonly state: 'running'; readonly until: number }
  | { readonly state: 'completed'; readonly value: string | null };

/** Keys with one owner at a time, for idempotency, cron ticks and overlap locks. */
export interface KeyStore {
  /** Takes the key unless another owner holds it or it is completed. The same owner may claim it again. */
  claim(key: string, owner: string, holdUntil: number): Promise<KeyClaim>;
  extend(key: string, owner: string, holdUntil: number): Promise<boolean>;
  complete(key: string, owner: string, done: { value: string | null; keepUntil: number }): Promise<boolean>;
  /** Releases the key. With `keep`, the next owner can read `value` until `keepUntil`. */
  release(key: string, owner: string, keep?: { value: string; keepUntil: number }): Promise<boolean>;
}

export type CancelResult = 'cancelled' | 'cancelling' | 'finished' | 'unknown';

export interface Retention {
  /** How long the record of a completed or cancelled job is kept; 0 = it is removed when the job ends. */
  readonly completedMs: number;
  /** How long a dead letter (failed, rejected or expired) is kept. */
  readonly deadMs: number;
}

/** A record must match all given members. Texts are compared exactly, including case. */
export interface RecordFilter {
  readonly queue?: string;
  readonly job?: string;
  readonly status?: JobStatus;
  readonly tenantId?: string;
  readonly idempotencyKey?: string;
  readonly schedule?: string;
  /** The beginning of the id. */
  readonly idPrefix?: string;
  /** Created at or after this time, epoch ms. */
  readonly createdFrom?: number;
  /** Created before this time, epoch ms. */
  readonly createdBefore?: number;
  /** The worker or the host of one of the listed attempts. */
  readonly worker?: string;
  /** A part of the record's `error`, or of the error message of a listed attempt. */
  readonly error?: string;
  /** @default 100 */
  readonly max?: number;
}

export interface RecordPage {
  /** Newest first. */
  readonly records: readonly JobRecord[];
  /**
   * Where the next page begins; `null` = there are no older records. A page may have fewer than `max` records, or none, and still have a next
   * page: one call examines some 10,000 records at most.
   */
  readonly next: string | null;
}

export interface EndWatch {
  /** `true` = every end is reported. While it is `false`, the caller polls as often as without a watch. */
  readonly hears: boolean;
  /** Ends the watch and frees its resources. */
  stop(): void;
}

export interface RecordStore {
  get(id: string): Promise<JobRecord | null>;
  /**
   * Pages by creation, newest first. A job that exists the whole time is on exactly one page, even if others come and go. `after` is the `next`
   * of an earlier page with the same filter; any other text throws `OPTION`.
   */
  page(filter: RecordFilter & { readonly after?: string }): Promise<RecordPage>;
  /**
   * The signed body of a job with `keepPayload`, unverified. If the queue itself keeps the records, it is also available for jobs that have not
   * ended and for dead letters. `null` = the job is not known, or its body is not kept.
   */
  body(id: string): Promise<string | null>;
  /** Reports progress for the run that holds the lease; `false` = it no longer holds it. */
  progress(id: string, token: string, progress: Progress): Promise<boolean>;
  /** Cancels a waiting job at once. A running job is marked; its worker sees the mark and aborts it. */
  cancel(id: string): Promise<CancelResult>;
  /** The ids among the given running jobs that are marked for cancelling. */
  cancelRequested(ids: readonly string[]): Promise<string[]>;
  /**
   * Removes finished records older than the given ages (default: the store's own retention), and expired keys. `keepMs` of a record shifts the
   * given age as it shifts the store's retention. Live jobs are never touched. Works in bounded steps: returns how many it removed; call it
   * until that is 0.
   */
  purge(olderThan?: Retention): Promise<number>;
  /**
   * Calls `look` soon after the job has ended, in whatever way, and each time `hears` changes. The job may have ended before the call. `look`
   * may be called without need, and a call may be lost: rely on `get`. Never throws. Absent where the store has no notifications.
   */
  watchEnd?(job: Pick<JobRecord, 'id' | 'queue'>, look: () => void): EndWatch;
  /** Records are disabled: the store answers as if no job had ever existed. */
  readonly recordsDisabled?: true;
  /** For queues that keep no records themselves. Absent = the store learns from its own queue what happens to jobs. */
  readonly writer?: RecordWriter;
}

/** The job's data, sent with every write: a write cannot rely on an earlier one having arrived. */
export interface RecordedJob {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly tenantId: string | null;
  readonly priority: number;
  readonly createdAt: number;
  readonly runAt: number;
  readonly facts?: MessageFacts;
  /** Present if the record must keep it, for `RecordStore.body`. */
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
  /** `startedAt` equals the `at` of its `AttemptStart`. */
  readonly report: AttemptReport;
  /** `false` = released as if the attempt had never begun. It is not listed in the record. */
  readonly counted: boolean;
  /** When it may run again; `null` = the job has ended. */
  readonly runAt: number | null;
  /** Reason of the dead letter or the cancel; `null` = the job is completed, or may run again. */
  readonly reason: AbandonReason | null;
  readonly error: string | null;
  /** For a job that has ended: how long its record is kept, instead of the store's retention. */
  readonly keepMs?: number;
}

export interface Begun {
  readonly cancelled: boolean;
  /** The previous attempt never reported its end: its worker died or lost the lease. */
  readonly interrupted: boolean;
}

/**
 * Called by the sender and by every attempt. A write may arrive twice, late, or before the one that should precede it. So a report of an older
 * attempt or a stale owner must never overwrite a newer state; it only adds its own attempt. A failure here does not affect the job.
 */
export interface RecordWriter {
  /** The queue has stored these jobs. A known job stays unchanged. */
  enqueued(jobs: readonly RecordedJob[]): Promise<void>;
  /** An attempt begins. If the job is marked for cancelling, this call ends it and the attempt must not run. */
  started(job: RecordedJob, start: AttemptStart): Promise<Begun>;
  /** The queue has settled the attempt. */
  settled(job: RecordedJob, owner: string, end: AttemptEnd): Promise<void>;
  /**
   * Dead letters were made ready again. Jobs that are not dead or not known stay unchanged.
   * @param replaced by id, the new bodies: a record that keeps the body keeps the new one
   */
  retried?(ids: readonly string[], replaced?: ReadonlyMap<string, Replacement>): Promise<void>;
  /** A waiting job was changed. A job that is not waiting or not known stays unchanged. */
  changed?(id: string, change: WaitingChange): Promise<void>;
}

export interface RunningJob {
  readonly id: string;
  readonly job: string;
  /** Start of this attempt, epoch ms. */
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
  /** How many attempts ended with each outcome since the worker started. */
  readonly counts: Readonly<Record<Outcome, number>>;
  /** Attempts that failed since the worker started. Workers of an older version report neither `failed` nor `jobs`. */
  readonly failed?: number;
  /** Running jobs, longest first, at most 20; `running` counts all. */
  readonly jobs?: readonly RunningJob[];
  readonly memoryBytes: number;
  /** `true` = the worker takes no more jobs. It stops when its running jobs have ended, or after its `drainMs`. */
  readonly draining?: boolean;
}

/** Requests to a worker. */
export interface WorkerOrders {
  /** `drain` was called for this worker. */
  readonly drain: boolean;
}

/** Removes workers that were not seen for 5 minutes; core/kit/worker-state.ts describes the states of a heartbeat. */
export interface WorkerRegistry {
  /** Resolves with the requests to this worker, until it is removed. A registry without `drain` resolves with nothing. */
  // biome-ignore lint/suspicious/noConfusingVoidType: registries that resolve with nothing are complete
  heartbeat(beat: WorkerBeat): Promise<WorkerOrders | void>;
  /** Workers seen at `seenSince` or later, oldest first. */
  list(seenSince: number): Promise<WorkerBeat[]>;
  remove(id: string): Promise<void>;
  /** Asks a worker to drain; its next heartbeat returns the request. May be repeated. `false` = no worker has this id. */
  drain?(id: string): Promise<boolean>;
}

/**
 * Keeps payloads that are too large for the queue. Keys have 1 to 160 characters of `A-Z a-z 0-9 . _ -`; each names one payload. A payload is
 * removed once its job is done, and kept with a dead letter. Leftovers (a message that was never sent, a discarded dead letter) need a lifecycle
 * rule of the store, which must not be shorter than the life of a message.
 */
export interface PayloadStore {
  /** Resolves when it is stored durably. A second call with the same key replaces the payload, or keeps the one that is there. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** `null` = not found. For a payload larger than `maxBytes` any bytes may be returned: the caller's digest check refuses them. */
  get(key: string, maxBytes: number): Promise<Uint8Array | null>;
  /** Also resolves if there was none. */
  delete(key: string): Promise<void>;
}

/** The stores that the kit builds on texts (`core/kit/texts`). A backend may provide its own where that is faster. */
export interface DerivedStores {
  readonly workers: WorkerRegistry;
  readonly metrics: MetricStore;
  readonly audit: AuditLog;
  readonly limits: LimitStore;
  readonly steps: StepStore;
  readonly batches: BatchStore;
  readonly schedules: ScheduleStore;
}

/** The stores of a backend: keys, records and texts, and payloads if they may be large. */
export interface BackendStores extends Partial<DerivedStores> {
  readonly keys: KeyStore;
  readonly records: RecordStore;
  /**
   * If absent, only those `DerivedStores` exist that the backend itself provides. Without metrics no numbers are kept; without an audit log no
   * actions are recorded; without schedules there are only those in code. Limits, steps and batches are refused.
   */
  readonly texts?: TextStore;
  /** If absent, a payload that is too large for the queue is refused. */
  readonly payloads?: PayloadStore;
  /** Migrates its tables to the version of this code, if opening has not done so. `from` is `null` for new tables. */
  migrate?(): Promise<{ readonly from: number | null; readonly to: number }>;
  /** As `QueueAdmin.diagnose`, for a store that is separate from the queue. */
  diagnose?(request: DiagnosisRequest): Promise<readonly Check[]>;
  /** Closes the store's own connections. May be called again. */
  close?(): Promise<void>;
}

/** The stores of a client, including those that are built on texts. */
export interface Stores extends BackendStores {
  readonly workers: WorkerRegistry;
}
