/** What people who run jobs ask for, as plain data: the page, the command line and programs share it. */

import type { DeadLetterSummary } from '../contract/admin.ts';
import type { AuditPage } from '../contract/derived/audit.ts';
import type { AbandonReason, AttemptReport } from '../contract/outcome.ts';
import type { CancelResult, JobRecord } from '../contract/store.ts';
import type { JobContext } from '../envelope/envelope.ts';
import type { BatchChildPage, BatchDetail, ChildrenRequest } from '../features/batches/show.ts';
import type { LimitFilter, LimitPage } from '../features/limits/views.ts';
import type { Batch } from '../kernel/app/batch.ts';
import type { StoppedJob } from '../kernel/app/breaker.ts';
import type { Chain } from '../kernel/app/chain.ts';
import type { EmitOptions } from '../kernel/app/durable.ts';
import type { StoredScheduleDefinition, StoredScheduleInfo } from '../kernel/app/stored-schedule.ts';
import type { JobChange } from '../kernel/enqueue/client.ts';
import type { StoredPayload } from '../kit/records/payload.ts';

/** Who acts, for the audit log. */
export interface OperatorIdentity {
  /** 1 to 256 characters. */
  readonly actor: string;
  /** `cli build-1`, `dashboard 10.0.0.7`. 1 to 256 characters. */
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

/** All that is given must hold. Texts are compared as they are: case counts. */
export interface DeadLetterFilter {
  readonly queue?: string;
  readonly job?: string;
  readonly reason?: AbandonReason;
  readonly tenantId?: string;
  /** A piece of the error. */
  readonly error?: string;
  /** Of a group. */
  readonly fingerprint?: string;
  /** Died at this moment or later. */
  readonly diedFrom?: number;
  /** Died before this moment. */
  readonly diedBefore?: number;
}

export interface DeadLetterItem extends DeadLetterSummary {
  /** The same for letters of one job that died of the same error, numbers and ids in its text left out. */
  readonly fingerprint: string;
}

export interface DeadLetterItems {
  readonly letters: readonly DeadLetterItem[];
  /** Where the next page begins; `null` = there is nothing older. A page may have fewer letters than wanted, even none, and go on. */
  readonly next: string | null;
}

export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly job: string;
  readonly reason: AbandonReason;
  /** Of the newest one. */
  readonly error: string;
  readonly queues: readonly string[];
  readonly count: number;
  readonly newestId: string;
  readonly newestAt: number;
  readonly oldestAt: number;
}

export interface DeadLetterGroups {
  /** Most letters first. */
  readonly groups: readonly DeadLetterGroup[];
  /** How many of the newest letters were looked at. */
  readonly looked: number;
  /** `false`: there are older ones, which no group counts. */
  readonly complete: boolean;
}

export interface DeadLetterDetail {
  readonly letter: DeadLetterItem;
  /** What its text says; `null` where its signature does not verify here, so that nothing in it is true. */
  readonly envelope: {
    readonly priority: number;
    readonly maxRetries: number;
    readonly idempotencyKey: string | null;
    readonly issuedAt: number;
    readonly expiresAt: number | null;
    readonly context: JobContext | null;
    readonly kid: string | null;
  } | null;
  /** With `[masked]` under names that look like secrets; `null` where it could not be verified or loaded. */
  readonly payload: StoredPayload | null;
  /** As far as records are kept. */
  readonly attempts: readonly AttemptReport[];
  /** Whether its payload can be edited here; otherwise why not. */
  readonly editable: true | string;
  /** Retried as it is, it would expire at once: give it a new expiry. */
  readonly expired: boolean;
}

/** Either ids, or a filter; an empty filter means all. */
export type DeadLetterSelection = { readonly ids: readonly string[] } | { readonly filter: DeadLetterFilter };

export interface BulkProgress {
  /** Retried or discarded. */
  readonly done: number;
  /** How many there are to do, as far as that can be told. */
  readonly total: number | null;
  /** With `stopAbovePercent`: how many have run again, and how many of them failed again. */
  readonly ran: number;
  readonly failedAgain: number;
}

export interface BulkOptions {
  /** Changes nothing: tells how many match. */
  readonly dryRun?: boolean;
  /** At most so many. */
  readonly limit?: number;
  /** Ends between two groups of letters. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BulkProgress) => void;
}

export interface RetryOptions extends BulkOptions {
  /** About so many per second, evenly. @default all at once */
  readonly perSecond?: number;
  /** Stops when more than so many percent of those that have run again failed again. Needs records. */
  readonly stopAbovePercent?: number;
  /** A new expiry for those that have one, or that expired: so long after now. They are signed anew. */
  readonly expiresInMs?: number;
}

export interface BulkResult extends BulkProgress {
  /** Ids that are no dead letters. */
  readonly missing: readonly string[];
  /** Letters that stay as they are, and why; the first 1,000. */
  readonly refused: readonly { readonly id: string; readonly why: string }[];
  /**
   * How many were chosen and not found when it was their turn: somebody else was faster, or the queue of a cloud does not show them
   * just now. Those that are still dead letters can be chosen again.
   */
  readonly left: number;
  /** Why it ended: `partly` = all had their turn, and some are `left`; `failing` = `stopAbovePercent`, `stopped` = the signal. */
  readonly ended: 'all' | 'partly' | 'limit' | 'stopped' | 'failing';
}

export interface EditOptions {
  /** The whole new payload. A member that reads `[masked]` where the old one was masked keeps its old value. */
  readonly payload: unknown;
  readonly expiresInMs?: number;
  /** When the letter died that was edited: `CONFLICT` when the job has died again since. */
  readonly diedAt?: number;
  /** Checks it, and changes nothing. */
  readonly dryRun?: boolean;
}

export interface Operator {
  readonly identity: OperatorIdentity;
  /** Of several backends all are looked through; an id is looked for on each. */
  readonly deadLetters: {
    page(filter: DeadLetterFilter, page?: { max?: number; after?: string }): Promise<DeadLetterItems>;
    /** @param max letters to look at on each backend, newest first; 5,000 without it */
    groups(filter: DeadLetterFilter, max?: number): Promise<DeadLetterGroups>;
    /** `null` = there is no such dead letter. */
    show(id: string): Promise<DeadLetterDetail | null>;
    retry(selection: DeadLetterSelection, options?: RetryOptions): Promise<BulkResult>;
    /** Checks the payload against the job's schema, signs it anew and makes the job ready. Throws `PAYLOAD` or `OPTION` and its kin. */
    edit(id: string, options: EditOptions): Promise<void>;
    discard(selection: DeadLetterSelection, options?: BulkOptions): Promise<BulkResult>;
  };
  readonly jobs: {
    /** `null` = it is not known, or no longer kept. */
    get(id: string): Promise<JobRecord | null>;
    cancel(ids: readonly string[]): Promise<Readonly<Record<string, CancelResult>>>;
    /** Enqueues a new job with the same payload; resolves with its id. Throws `OPTION` where the payload is not kept. */
    runAgain(id: string): Promise<string>;
    /** Lets jobs that wait run now. Of each id whether it waited. */
    promote(ids: readonly string[]): Promise<Readonly<Record<string, boolean>>>;
    /** As `client.update`, and a member of the payload that reads `[masked]` keeps its value. `false` = it does not wait. */
    update(id: string, change: JobChange<unknown>): Promise<boolean>;
    /** Takes jobs that wait out of their queues, with their records. Of each id whether it waited. */
    remove(ids: readonly string[]): Promise<Readonly<Record<string, boolean>>>;
    /**
     * No job of this name begins any more, on any worker, until it is resumed. Workers hear of it within 5 s; running ones end normally.
     * `false` = it was paused already.
     */
    pause(job: string): Promise<boolean>;
    /** `false` = it was not paused. */
    resume(job: string): Promise<boolean>;
    /** Forgets the failures of the job, so that all that wait for its breaker run. `false` = it had none. */
    closeBreaker(job: string): Promise<boolean>;
    /** Those that are paused, and those whose breaker is open. None where no limits are kept. */
    stopped(): Promise<readonly StoppedJob[]>;
  };
  readonly limits: {
    /** Those in use, and those that the app declares; at most `max` of each backend. Throws `CONFIG` where none are kept. */
    list(filter?: LimitFilter): Promise<LimitPage>;
    /** On each backend that keeps limits: frees its slots, ends its hold and makes the jobs that wait for it ready. `false` = no slot was in use, and it was not held. */
    reset(key: string): Promise<boolean>;
  };
  /** Throw `CONFIG` where none are kept. */
  readonly batches: {
    get(id: string): Promise<Batch | null>;
    /** With what it calls at its end. */
    show(id: string): Promise<BatchDetail | null>;
    /** By their numbers, page by page. Throws `NOT_FOUND`. */
    children(id: string, request?: ChildrenRequest): Promise<BatchChildPage>;
    /** Newest first. `after` is the id of the last one of the page before. @param page max: 100 without it */
    list(page?: { readonly after?: string; readonly max?: number }): Promise<readonly Batch[]>;
    /** Cancels the children that have not ended. `false` = all have. Throws `NOT_FOUND`. */
    cancel(id: string): Promise<boolean>;
    /** Makes the dead letters among its children ready again. Throws `NOT_FOUND` or `BATCH`. */
    retryFailed(id: string): Promise<number>;
  };
  /** Throw `CONFIG` where no records are kept. */
  readonly chains: {
    /** `null` = it is not known, or no longer kept. */
    get(id: string): Promise<Chain | null>;
    /** Cancels the link that waits or runs, so that no further one begins. Throws `NOT_FOUND`. */
    cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished'>;
  };
  readonly queues: {
    pause(queue: string): Promise<void>;
    resume(queue: string): Promise<void>;
    /** Removes what waits; resolves with how many. */
    clear(queue: string): Promise<number>;
  };
  readonly schedules: {
    /** Of those that were made at run time, as `client.schedules`. */
    get(name: string): Promise<StoredScheduleInfo | null>;
    list(page?: {
      readonly after?: string;
      readonly max?: number;
    }): Promise<{ readonly schedules: readonly StoredScheduleInfo[]; readonly next: string | null }>;
    /** Enqueues its job now, beside its moments; resolves with the id. */
    run(name: string): Promise<string>;
    /** As `client.schedules`: schedules made at run time. The other verbs take the names of both kinds. */
    upsert<Input>(definition: StoredScheduleDefinition<Input>): Promise<StoredScheduleInfo>;
    remove(name: string): Promise<boolean>;
    /** Moments that fall due while it is paused are left out. `false` = it was paused already. */
    pause(name: string): Promise<boolean>;
    /** `false` = it was not paused. */
    resume(name: string): Promise<boolean>;
  };
  readonly events: {
    /** As `client.emit`: resolves with how many jobs got it. */
    emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  };
  readonly workers: {
    /** Asks a worker to take no more jobs and to stop as after a signal. It hears of it with its next heartbeat. */
    drain(id: string): Promise<void>;
  };
  /** Newest first. */
  audit(page?: { max?: number; after?: string }): Promise<AuditPage>;
}
