/** The operator's types. The dashboard, the command line and programs share them. */

import type { DeadLetterSummary, QueueStats } from '../contract/admin.ts';
import type { AuditEntry } from '../contract/derived/audit.ts';
import type { AbandonReason, AttemptReport } from '../contract/outcome.ts';
import type { CancelResult, JobRecord, RecordFilter, WorkerBeat } from '../contract/store.ts';
import type { JobContext } from '../envelope/envelope.ts';
import type { BatchChildPage, BatchDetail, ChildrenRequest } from '../features/batches/show.ts';
import type { LimitFilter, LimitPage } from '../features/limits/views.ts';
import type { ScheduleInCode } from '../features/schedules/history.ts';
import type { AlertRow } from '../kernel/app/alerts.ts';
import type { Batch } from '../kernel/app/batch.ts';
import type { StoppedJob } from '../kernel/app/breaker.ts';
import type { Chain } from '../kernel/app/chain.ts';
import type { EmitOptions } from '../kernel/app/durable.ts';
import type { StoredScheduleDefinition, StoredScheduleInfo } from '../kernel/app/stored-schedule.ts';
import type { JobChange, ResultOptions } from '../kernel/enqueue/client.ts';
import type { StoredPayload } from '../kit/records/payload.ts';
import type { WorkerHealth } from '../kit/worker-state.ts';
import type { OfOne, OfSeveral } from '../routing/each.ts';

/** Identifies the acting person or program in the audit log. */
export interface OperatorIdentity {
  /** Who acts. 1 to 256 characters. */
  readonly actor: string;
  /** Where the actor works: `cli build-1`, `dashboard 10.0.0.7`. 1 to 256 characters. */
  readonly from: string;
}

export type OperatorAction =
  | 'dead.retry'
  | 'dead.edit'
  | 'dead.discard'
  | 'job.cancel'
  | 'job.run-again'
  | 'job.promote'
  | 'job.update'
  | 'job.remove'
  | 'limit.reset'
  | 'batch.cancel'
  | 'chain.cancel'
  | 'batch.retry'
  | 'job.pause'
  | 'job.resume'
  | 'job.close-breaker'
  | 'queue.pause'
  | 'queue.resume'
  | 'queue.clear'
  | 'schedule.run'
  | 'schedule.pause'
  | 'schedule.resume'
  | 'schedule.upsert'
  | 'schedule.remove'
  | 'event.emit'
  | 'worker.drain';

/** Selects dead letters for which every given member matches. Texts are case-sensitive. */
export interface DeadLetterFilter {
  readonly queue?: string;
  readonly job?: string;
  readonly reason?: AbandonReason;
  readonly tenantId?: string;
  /** Matches errors that contain this text. */
  readonly error?: string;
  /** The fingerprint of a group. */
  readonly fingerprint?: string;
  /** Died at this time or later. Epoch ms. */
  readonly diedFrom?: number;
  /** Died before this time. Epoch ms. */
  readonly diedBefore?: number;
}

export interface DeadLetterItem extends DeadLetterSummary {
  /** Equal for letters of one job with the same error, ignoring numbers and ids in the error's text. */
  readonly fingerprint: string;
}

export interface DeadLetterItems extends OfSeveral {
  readonly letters: readonly OfOne<DeadLetterItem>[];
  /** `after` of the next page; `null` = this is the last page. A page with fewer letters than `max`, or none, need not be the last. */
  readonly next: string | null;
}

export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly job: string;
  readonly reason: AbandonReason;
  /** The error of the newest letter. */
  readonly error: string;
  readonly queues: readonly string[];
  readonly count: number;
  readonly newestId: string;
  readonly newestAt: number;
  readonly oldestAt: number;
}

export interface DeadLetterGroups extends OfSeveral {
  /** The groups with the most letters first. */
  readonly groups: readonly DeadLetterGroup[];
  /** The number of letters that were read, newest first. */
  readonly looked: number;
  /** `false` = older letters exist that were not read or counted. */
  readonly complete: boolean;
}

export interface DeadLetterDetail {
  readonly letter: DeadLetterItem;
  /** The signed content. `null` = the signature does not verify here, so the content cannot be trusted. */
  readonly envelope: {
    readonly priority: number;
    readonly maxRetries: number;
    readonly idempotencyKey: string | null;
    readonly issuedAt: number;
    readonly expiresAt: number | null;
    readonly context: JobContext | null;
    readonly kid: string | null;
  } | null;
  /** Values under names that look like secrets read `[masked]`. `null` = it could not be verified or loaded. */
  readonly payload: StoredPayload | null;
  /** Empty if the stores keep no records. */
  readonly attempts: readonly AttemptReport[];
  /** `true` = the payload can be edited here. Otherwise the reason why not. */
  readonly editable: true | string;
  /** `true` = it has expired, so a retry needs `expiresInMs`. */
  readonly expired: boolean;
}

/** Either ids or a filter. An empty filter selects all dead letters. */
export type DeadLetterSelection = { readonly ids: readonly string[] } | { readonly filter: DeadLetterFilter };

export interface BulkProgress {
  /** Number of letters that were retried or discarded. */
  readonly done: number;
  /** Number of letters to retry or discard; `null` = not known. */
  readonly total: number | null;
  /** Number of retried jobs that have run again. 0 without `stopAbovePercent`. */
  readonly ran: number;
  /** Number of retried jobs that failed again. 0 without `stopAbovePercent`. */
  readonly failedAgain: number;
}

export interface BulkOptions {
  /** Counts the matching letters and changes nothing. @default false */
  readonly dryRun?: boolean;
  /** Maximum number of letters, newest first. @default no limit */
  readonly limit?: number;
  /** Stops before the next group of letters. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BulkProgress) => void;
}

export interface RetryOptions extends BulkOptions {
  /** Approximate rate, in letters per second. @default as fast as possible */
  readonly perSecond?: number;
  /** Stops when more than this percentage of the jobs that ran again have failed again. Needs records. @default never */
  readonly stopAbovePercent?: number;
  /** New expiry, in ms from now, for letters with an expiry. They are signed again. @default the expiry is kept */
  readonly expiresInMs?: number;
}

export interface BulkResult extends BulkProgress, OfSeveral {
  /** Given ids for which no dead letter exists. */
  readonly missing: readonly string[];
  /** Letters that could not be changed, with the reason. At most 1,000. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  /**
   * Number of selected letters that were gone when their turn came: another operator took them, or a cloud queue does not show them
   * at the moment. Letters that still exist can be selected again.
   */
  readonly left: number;
  /** Why it ended: `partly` = the end was reached, but some letters are `left`; `failing` = `stopAbovePercent`; `stopped` = `signal`. */
  readonly ended: 'all' | 'partly' | 'limit' | 'stopped' | 'failing';
}

export interface EditOptions {
  /** The complete new payload. A masked member that still reads `[masked]` keeps its old value. */
  readonly payload: unknown;
  /** New expiry, in ms from now. @default the expiry is kept */
  readonly expiresInMs?: number;
  /** `diedAt` of the letter that you read. Throws `CONFLICT` if the job has died again since. @default not checked */
  readonly diedAt?: number;
  /** Validates the payload and changes nothing. @default false */
  readonly dryRun?: boolean;
}

export interface ListedJob extends JobRecord {
  /** Says what a sleeping job waits for, and until when; `null` = it does not sleep. */
  readonly sleeps: string | null;
}

export interface Operator {
  readonly identity: OperatorIdentity;
  /** Covers all backends of the client. */
  readonly deadLetters: {
    page(filter: DeadLetterFilter, page?: { max?: number; after?: string }): Promise<DeadLetterItems>;
    /** @param max number of letters to read on each backend, newest first; default 5,000 */
    groups(filter: DeadLetterFilter, max?: number): Promise<DeadLetterGroups>;
    /** `null` = no such dead letter. */
    show(id: string): Promise<DeadLetterDetail | null>;
    retry(selection: DeadLetterSelection, options?: RetryOptions): Promise<BulkResult>;
    /**
     * Validates the payload against the job's schema, signs it again and makes the job ready.
     * Throws `NOT_FOUND`, `PAYLOAD`, `OPTION` (no new expiry for an expired job), `CONFLICT`, `UNKNOWN_JOB` or `SIGNATURE`.
     */
    edit(id: string, options: EditOptions): Promise<void>;
    discard(selection: DeadLetterSelection, options?: BulkOptions): Promise<BulkResult>;
  };
  readonly jobs: {
    /** Newest first. A page with fewer jobs than `max`, or none, need not be the last. */
    list(
      filter?: RecordFilter,
      page?: { max?: number; after?: string },
    ): Promise<OfSeveral & { readonly jobs: readonly OfOne<ListedJob>[]; readonly next: string | null }>;
    /** `null` = the job is unknown, or its record has been deleted. */
    get(id: string): Promise<JobRecord | null>;
    /** Waits until the job has ended, for at most `timeoutMs` (0 = does not wait). Resolves with its record as it is then. */
    result(id: string, options?: Partial<ResultOptions>): Promise<JobRecord | null>;
    cancel(ids: readonly string[]): Promise<Readonly<Record<string, CancelResult>>>;
    /** Enqueues a new job with the same payload; resolves with its id. Throws `OPTION` if the payload was not kept. */
    runAgain(id: string): Promise<string>;
    /** Makes waiting jobs ready now. Resolves with a boolean per id; `false` = the job was not waiting. */
    promote(ids: readonly string[]): Promise<Readonly<Record<string, boolean>>>;
    /** Like `client.update`, but a payload member that reads `[masked]` keeps its value. `false` = the job was not waiting. */
    update(id: string, change: JobChange<unknown>): Promise<boolean>;
    /** Removes waiting jobs and their records. Resolves with a boolean per id; `false` = the job was not waiting. */
    remove(ids: readonly string[]): Promise<Readonly<Record<string, boolean>>>;
    /**
     * Stops new runs of this job on all workers, until it is resumed. It takes effect within 5 s; running jobs end normally.
     * `false` = it was already paused.
     */
    pause(job: string): Promise<boolean>;
    /** `false` = it was not paused. */
    resume(job: string): Promise<boolean>;
    /** Closes the breaker of the job and makes the jobs that wait for it ready. `false` = it had no failures. */
    closeBreaker(job: string): Promise<boolean>;
    /** Jobs that are paused or whose breaker is open. Empty if no store keeps limits. */
    stopped(): Promise<OfSeveral & { readonly stopped: readonly OfOne<StoppedJob>[] }>;
  };
  readonly limits: {
    /** Limits in use, and those that the app declares; at most `max` per backend. Throws `CONFIG` if no store keeps limits. */
    list(filter?: LimitFilter): Promise<LimitPage>;
    /** Frees all slots of a limit, ends its hold and makes the jobs that wait for it ready, on every backend. `false` = it was not in use. */
    reset(key: string): Promise<boolean>;
  };
  /** All throw `CONFIG` if no store keeps batches. */
  readonly batches: {
    get(id: string): Promise<Batch | null>;
    /** The batch with its callbacks. */
    show(id: string): Promise<BatchDetail | null>;
    /** The children by number, page by page. Throws `NOT_FOUND`. */
    children(id: string, request?: ChildrenRequest): Promise<BatchChildPage>;
    /** Newest first; `max` defaults to 100. */
    list(page?: {
      readonly after?: string;
      readonly max?: number;
    }): Promise<OfSeveral & { readonly batches: readonly OfOne<Batch>[]; readonly next: string | null }>;
    /** Cancels the children that have not ended. `false` = all had ended. Throws `NOT_FOUND`. */
    cancel(id: string): Promise<boolean>;
    /** Retries the children that are dead letters; resolves with their number. Throws `NOT_FOUND` or `BATCH`. */
    retryFailed(id: string): Promise<number>;
  };
  /** All throw `CONFIG` if no store keeps records. */
  readonly chains: {
    /** `null` = the chain is unknown, or its records have been deleted. */
    get(id: string): Promise<Chain | null>;
    /** Cancels the link that waits or runs, so that no later link starts. Throws `NOT_FOUND`. */
    cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished'>;
  };
  readonly queues: {
    /** The app's queues, used or not, and others that were used, with their counts. */
    list(): Promise<OfSeveral & { readonly queues: readonly OfOne<QueueStats>[] }>;
    pause(queue: string): Promise<void>;
    resume(queue: string): Promise<void>;
    /** Removes all waiting jobs; resolves with their number. */
    clear(queue: string): Promise<number>;
  };
  readonly schedules: {
    /** Schedules in code, of the backends that this process uses. */
    inCode(): Promise<OfSeveral & { readonly schedules: readonly OfOne<ScheduleInCode>[] }>;
    /** A schedule that was made at run time, like `client.schedules.get`. */
    get(name: string): Promise<StoredScheduleInfo | null>;
    list(page?: {
      readonly after?: string;
      readonly max?: number;
    }): Promise<
      OfSeveral & { readonly schedules: readonly OfOne<StoredScheduleInfo>[]; readonly next: string | null }
    >;
    /** Enqueues its job now, in addition to its scheduled runs; resolves with the job's id. */
    run(name: string): Promise<string>;
    /** Like `client.schedules.upsert`, for schedules made at run time only. `run`, `pause` and `resume` also take those in code. */
    upsert<Input>(definition: StoredScheduleDefinition<Input>): Promise<StoredScheduleInfo>;
    remove(name: string): Promise<boolean>;
    /** Runs that fall due during the pause are skipped. `false` = it was already paused. */
    pause(name: string): Promise<boolean>;
    /** `false` = it was not paused. */
    resume(name: string): Promise<boolean>;
  };
  readonly events: {
    /** Like `client.emit`; resolves with the number of jobs that got the event. */
    emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  };
  readonly alerts: {
    /** Each condition as it is now; changes and sends nothing. Throws `CONFIG` if the app has no alerts. */
    list(): Promise<
      OfSeveral & {
        readonly alerts: readonly OfOne<AlertRow>[];
        /** When they were last evaluated, epoch ms, on the backend where that is longest ago; `null` = never there. */
        readonly evaluatedAt: number | null;
      }
    >;
  };
  readonly workers: {
    /** The workers of the last five minutes. Functions are not among them. */
    list(): Promise<
      OfSeveral & { readonly workers: readonly OfOne<WorkerBeat & { readonly state: WorkerHealth }>[] }
    >;
    /** Asks a worker to take no more jobs and to stop, as after SIGTERM. The worker sees the request at its next heartbeat. */
    drain(id: string): Promise<void>;
  };
  /** Newest first. */
  audit(page?: {
    max?: number;
    after?: string;
  }): Promise<OfSeveral & { readonly entries: readonly OfOne<AuditEntry>[]; readonly next: string | null }>;
}
