/**
 * The interface of a queue, version 1: plain data and eight verbs. docs/backends.md lists the parts that may still change.
 *
 * Glossary. Each word has this one meaning everywhere:
 * - message      a signed envelope (one JSON text) and the few facts that a queue needs to route it
 * - lease        the right to run one message once, for a limited time; every settle verb needs one
 * - token        proof of ownership inside a lease, new for every lease; a stale token changes nothing
 * - claim        to take an idempotency key for a run (contract/store.ts). Jobs are leased, never claimed
 * - attempt      one run of a job, counted when the lease is given out, so a run that kills its worker counts too
 * - settle       to end a lease: `ack` (done), `nack` (again, later) or `abandon` (never again)
 * - release      to give back a lease, a key or a held job unfinished, without spending an attempt
 * - dead letter  an abandoned message, kept with its reason until it is retried or discarded.
 *                Azure Service Bus says "abandon" for "release now": that is our `nack` with delay 0
 * - payload      the data of a job for its handler; if it is too large for the queue, a payload store keeps it
 * - record       the state of a job, for people: status, attempts, output
 * - worker       the loop that leases jobs and runs them; a slot is its room for one running job
 * - group        messages that share a key: they take turns with other groups, or run in order. Only the first message of a group
 *                is ready; the others queue behind it
 * - notify       to wake waiting workers because a job has arrived
 * - lane         one of several physical queues that form one queue, one per range of priorities
 *
 * Times named `…At`, `…Until` or `notBefore` are epoch milliseconds; durations named `…Ms` are milliseconds.
 */

import type { LongshoreError } from '../base/errors.ts';
import type { PendingJobs, QueueAdmin } from './admin.ts';
import type { AbandonReason, AttemptReport, MessageFacts } from './outcome.ts';
import type { BackendStores, RecordStore } from './store.ts';
import type { SqlTransaction } from './texts.ts';

export type { SqlTransaction } from './texts.ts';

export interface OutgoingMessage {
  /** Id of the envelope. A backend may use it to drop a second copy (`SendResult.duplicate`). */
  readonly id: string;
  readonly queue: string;
  /** Name of the job, for listings only: the envelope's own `job` decides what runs. */
  readonly job: string;
  /** The signed envelope. A backend stores and returns these exact characters and must not parse them. */
  readonly body: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
  /** Hidden until then; `null` = ready at once. */
  readonly notBefore: number | null;
  /**
   * Jobs with the same group take turns with other groups; with `order` they also run in order, if the queue supports it (SQS MessageGroupId,
   * Service Bus session).
   */
  readonly group: string | null;
  /** Jobs of a group that have an `order` run one at a time and in order. Absent = they only take turns with other groups. */
  readonly order?: GroupOrder;
  /** Tenant of the job, for listings only: the envelope's own `context` decides what the handler sees. */
  readonly tenantId: string | null;
  /** For listings only. Absent if there are no facts, so that such a job costs nothing extra. */
  readonly facts?: MessageFacts;
  /** A backend may ignore them: they affect only speed and copies. Never stored. */
  readonly hints?: MessageHints;
}

/** While a failed job of an ordered group waits for its next attempt, the jobs behind it wait too (`wait`) or run meanwhile (`step-aside`). */
export type GroupOrder = 'wait' | 'step-aside';

export interface MessageHints {
  /** The id is new, so the queue cannot hold a copy yet: a backend need not look for one. */
  readonly isNew?: boolean;
  /**
   * Id of the move that brings the message from another queue. A broker that drops copies must not drop the moved message as a copy of the
   * original.
   */
  readonly move?: string;
}

/** One result per message, in the order of the messages. A failed message was not stored. */
export type SendResult =
  | { readonly ok: true; readonly id: string; readonly duplicate: boolean }
  | { readonly ok: false; readonly id: string; readonly error: LongshoreError };

/** Plain data: it can be logged, compared and sent over a wire. */
export interface JobLease {
  /** The queue from which it was really fetched; the envelope must agree with it. */
  readonly queue: string;
  readonly body: string;
  /** 1 = first run of this copy of the message. */
  readonly attempt: number;
  /** Opaque to all but the backend that created it. */
  readonly token: string;
  readonly expiresAt: number;
  /** The attempt before this one ended without being settled: its worker died or lost the lease. */
  readonly interrupted: boolean;
  /** Set if a message of another program could not be made a job: the reason. The message is rejected with it. */
  readonly refusal?: string;
}

export interface FetchRequest {
  readonly queues: readonly string[];
  /** The most leases to return; fewer is normal. */
  readonly max: number;
  readonly leaseMs: number;
  /** How long to wait for the first message; 0 = do not wait. */
  readonly waitMs: number;
  /** Ends the wait early. The call then resolves with what it has; it does not reject. */
  readonly signal?: AbortSignal;
}

/** Marks an idempotency key as completed in the transaction of the ack, if queue and keys share a database. */
export interface KeyCompletion {
  readonly key: string;
  readonly owner: string;
  readonly value: string | null;
  readonly keepUntil: number;
}

export interface Ack {
  readonly lease: JobLease;
  readonly report?: AttemptReport;
  readonly complete?: KeyCompletion;
  /** The record keeps the body for `RecordStore.body`, although the job is done. */
  readonly keepBody?: true;
  /** How long the record is kept, instead of the store's retention; 0 = it is removed with the ack. */
  readonly keepMs?: number;
}

export interface Nack {
  readonly delayMs: number;
  /** `false` = release the message as if this attempt had never begun (shutdown, busy key). */
  readonly countAttempt: boolean;
  readonly report?: AttemptReport;
}

export interface Abandon {
  readonly reason: AbandonReason;
  /** `CODE: message` of the error, for people. */
  readonly error: string;
  readonly report?: AttemptReport;
  /** As in `Ack`; also applies to a job abandoned as `cancelled`. With 0 no dead letter is kept. */
  readonly keepMs?: number;
}

export interface JobSender {
  /** Rejects only if the backend cannot be reached at all; otherwise resolves with one result per message. */
  enqueue(messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
}

/** Every verb answers `false` for a lease that is no longer owned, and then changes nothing. */
export interface JobSettler {
  ack(acks: readonly Ack[]): Promise<boolean[]>;
  nack(lease: JobLease, how: Nack): Promise<boolean>;
  abandon(lease: JobLease, why: Abandon): Promise<boolean>;
  /** Moves the end of each lease to now + `leaseMs`. */
  renew(leases: readonly JobLease[], leaseMs: number): Promise<boolean[]>;
}

export interface JobSource {
  fetch(request: FetchRequest): Promise<JobLease[]>;
  /** Makes every message with an expired lease ready again; returns how many. Brokers that do this themselves return 0. */
  reapExpired(queue: string): Promise<number>;
}

export interface BackendLimits {
  /** The largest body in bytes of UTF-8. A larger one is refused before anything is sent. */
  readonly maxBodyBytes: number;
  /** `null` = any delay. */
  readonly maxDelayMs: number | null;
  /** Longest total time one lease can be held by renewing; `null` = no limit. */
  readonly maxLeaseMs: number | null;
}

/**
 * A queue. The eight required verbs are `enqueue`, `ack`, `nack`, `abandon`, `renew`, `fetch`, `reapExpired` and `close`. All other functions
 * are optional features.
 */
export interface QueueBackend extends JobSender, JobSettler, JobSource {
  readonly name: string;
  readonly limits: BackendLimits;
  /** The queue is in the memory of this process: another process that opens it gets an empty one. */
  readonly inProcess?: true;
  close(): Promise<void>;
  /**
   * The time of a queue that all hosts share (epoch ms). It decides whether a message is due or expired, not the clock of a host. `tx` may be
   * the caller's transaction; the time is then read through it. If absent, each host's clock decides.
   */
  now?(tx?: SqlTransaction): Promise<number>;
  /** Stores in the queue's own database. `flow` prefers them, because they can share a transaction. */
  readonly stores?: BackendStores;
  /**
   * Wraps the records of the jobs that are in the queue, so that they include jobs that were enqueued and have not arrived yet. Without it a job
   * on its way would be taken for an ended one. Absent = an enqueued job is in the queue at once.
   */
  recordsOf?(arrived: RecordStore): RecordStore;
  readonly admin?: QueueAdmin;
  /** Whether this queue keeps ordered groups in order. Absent = it never does. */
  keepsOrder?(queue: string, order: GroupOrder): boolean;
  /** Absent where a broker cannot look a message up by id. */
  readonly pending?: PendingJobs;
  /** Stores the messages in the caller's transaction: they exist once it commits, or never. */
  enqueueIn?(tx: SqlTransaction, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  begin?(): Promise<JobTransaction>;
  /**
   * Calls `listener` with warnings about dangers to jobs, for people. Returns a function that ends the subscription. `connect()` emits them as
   * `backend.warning`.
   */
  onWarning?(listener: (message: string) => void): () => void;
  /** Optional speed-ups. Every guarantee holds without them. */
  readonly hints?: BackendHints;
}

export interface BackendHints {
  /**
   * `ack` and then `fetch` (without waiting) as one step, for queues where one transaction is cheaper than two. It fails as a whole: after an
   * error nothing was settled and nothing fetched.
   */
  ackAndFetch?(
    acks: readonly Ack[],
    request: Omit<FetchRequest, 'waitMs' | 'signal'>,
  ): Promise<{ readonly settled: boolean[]; readonly leases: JobLease[] }>;
  /** For queues that are notified of lost leases and cancels, so that a running job is stopped early and not only refused when it settles. */
  watchLeases?(heard: HeardOfLeases): LeaseWatch;
  /** `reapExpired` covers the leases of all processes, so one process may do it for all. */
  readonly reapsForAll?: true;
  /** A fetch whose wait is ended by its signal costs no more than one that does not wait: it needs no connection of its own. */
  readonly freeWaits?: true;
}

export interface HeardOfLeases {
  /** The leases with these tokens have ended because their connection broke. */
  lost(tokens: ReadonlySet<string>): void;
  /** Running jobs may have been cancelled; `RecordStore.cancelRequested` says which. Also called when `hearsCancels` has changed. */
  cancelled(): void;
}

export interface LeaseWatch {
  /** `true` = every cancel is reported. While it is `false`, the worker polls for cancels once a second. */
  readonly hearsCancels: boolean;
  stop(): void;
}

/** A transaction in the queue's own database, for the handler's writes and the ack. */
export interface JobTransaction {
  /** Passed to the handler; throws `LEASE_LOST` once the transaction is over. */
  readonly sql: SqlTransaction;
  /**
   * Settles inside the transaction and commits. `false` = the lease was lost and everything was rolled back. Rejects with `HANDLER` if the
   * handler's writes cannot be committed: everything was rolled back, and the lease is still held. After any other error the outcome is unknown.
   */
  ack(ack: Ack): Promise<boolean>;
  /**
   * Commits while the job continues. `last` writes after all writes of the handler, and returns whether to commit. `false` = the lease was lost
   * or `last` returned `false`, and everything was rolled back. Rejects as `ack` does.
   */
  commit(lease: JobLease, last: (tx: SqlTransaction) => Promise<boolean>): Promise<boolean>;
  /** Rolls everything back. Never rejects: if the connection is broken, the database has rolled back already. */
  rollback(): Promise<void>;
}
