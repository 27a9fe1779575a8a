/**
 * The transport seam, version 1: what a queue must be able to do, as plain data and eight verbs. docs/backends.md says
 * which parts may still change.
 *
 * Glossary. Each word has this one meaning everywhere:
 * - message      what is sent: a signed envelope (one JSON text) and the few facts a queue needs to route it
 * - lease        the right to run one message once, for a limited time; the only thing a settle verb accepts
 * - token        proof of ownership inside a lease, fresh for every lease; a stale token changes nothing
 * - claim        to take an idempotency key for a run (contract/store.ts). Jobs are leased, never claimed
 * - attempt      one run of a job, counted when the lease is given out, so a run that kills its worker counts too
 * - settle       to end a lease: `ack` (done), `nack` (again, later) or `abandon` (never again)
 * - release      to give a lease, a key or a held job up unfinished, without an attempt being spent
 * - dead letter  an abandoned message, kept with its reason until it is retried or discarded.
 *                Azure Service Bus says "abandon" for "release now": that is our `nack` with delay 0
 * - payload      what a handler is given; one that is too large for the queue is kept in a payload store
 * - record       what is known of a job for people: status, attempts, output
 * - worker       the loop that leases jobs and runs them; a slot is its room for one running job
 * - group        messages that share a key: they take turns with other groups, or run in order. Its first message stands among the
 *                ready ones; the others wait in line behind it
 * - notify       to wake waiting workers because a job has come
 * - lane         one of several physical queues that stand for one queue, by priority
 *
 * Times named `…At`, `…Until` or `notBefore` are epoch milliseconds, lengths named `…Ms` are milliseconds.
 */

import type { LongshoreError } from '../base/errors.ts';
import type { PendingJobs, QueueAdmin } from './admin.ts';
import type { AbandonReason, AttemptReport, MessageFacts } from './outcome.ts';
import type { BackendStores, RecordStore } from './store.ts';
import type { SqlTransaction } from './texts.ts';

export type { SqlTransaction } from './texts.ts';

export interface OutgoingMessage {
  /** The envelope's identifier. A backend may use it to drop a second copy (`SendResult.duplicate`). */
  readonly id: string;
  readonly queue: string;
  /** Name of the job, for listings only: the envelope's own `job` decides what runs. */
  readonly job: string;
  /** The signed envelope. A backend stores and returns these exact characters and never looks inside. */
  readonly body: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
  /** Hidden until then; `null` = ready at once. */
  readonly notBefore: number | null;
  /** Fair shares per key, and with `order` also order, where the queue has it (SQS MessageGroupId, Service Bus session). */
  readonly group: string | null;
  /** Jobs of the group that have it run one at a time and in order. Absent = they only take turns with other groups. */
  readonly order?: GroupOrder;
  /** Whose job it is, for listings; the envelope's own `context` decides what the handler sees. */
  readonly tenantId: string | null;
  /** Also for listings only. Absent where there is nothing to tell: such a job must not pay for it. */
  readonly facts?: MessageFacts;
  /** May be ignored: nothing but speed and copies depends on it. Never stored. */
  readonly hints?: MessageHints;
}

/** What the jobs behind a failed one of an ordered group do until its next attempt: they wait, or go ahead meanwhile. */
export type GroupOrder = 'wait' | 'step-aside';

export interface MessageHints {
  /** The id was made for this call, so no copy can be in the queue yet: a backend need not look for one. */
  readonly isNew?: boolean;
  /** Names the move that brings the message from another queue. A broker that drops copies must not take it for one of itself. */
  readonly move?: string;
}

/** One result per message, in the order of the messages; a failed message was not stored. */
export type SendResult =
  | { readonly ok: true; readonly id: string; readonly duplicate: boolean }
  | { readonly ok: false; readonly id: string; readonly error: LongshoreError };

/** Plain data: can be logged, compared and sent over a wire. */
export interface JobLease {
  /** The queue it was really fetched from, which the envelope must agree with. */
  readonly queue: string;
  readonly body: string;
  /** 1 = first run of this copy of the message. */
  readonly attempt: number;
  /** Opaque to everyone but the backend that made it. */
  readonly token: string;
  readonly expiresAt: number;
  /** The attempt before this one ended without being settled: its worker died or lost the lease. */
  readonly interrupted: boolean;
  /** Why the receiver could make no job of another program's message. It is rejected with these words. */
  readonly refusal?: string;
}

export interface FetchRequest {
  readonly queues: readonly string[];
  /** At most so many leases; fewer is normal. */
  readonly max: number;
  readonly leaseMs: number;
  /** How long to wait for the first message; 0 = look once. */
  readonly waitMs: number;
  /** Ends the wait early; the call then resolves with what it has, it does not reject. */
  readonly signal?: AbortSignal;
}

/** Marks an idempotency key as done in the same transaction as the ack, where queue and keys share a database. */
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
  /** The record keeps the body, for `RecordStore.body`, though the job is done and needs it no more. */
  readonly keepBody?: true;
  /** How long the record is kept, in place of the retention of the store; 0 = it goes with the ack. */
  readonly keepMs?: number;
}

export interface Nack {
  readonly delayMs: number;
  /** `false` releases the message as if this attempt had never begun (shutdown, busy key). */
  readonly countAttempt: boolean;
  readonly report?: AttemptReport;
}

export interface Abandon {
  readonly reason: AbandonReason;
  /** `CODE: message` of what went wrong, for people. */
  readonly error: string;
  readonly report?: AttemptReport;
  /** As of an `Ack`; of what is abandoned as `cancelled` too. With 0 there is no dead letter. */
  readonly keepMs?: number;
}

export interface JobSender {
  /** Rejects only when the backend cannot be reached at all; otherwise one result per message. */
  enqueue(messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
}

/** Every verb answers `false` for a lease that is no longer owned, and then has changed nothing. */
export interface JobSettler {
  ack(acks: readonly Ack[]): Promise<boolean[]>;
  nack(lease: JobLease, how: Nack): Promise<boolean>;
  abandon(lease: JobLease, why: Abandon): Promise<boolean>;
  /** Moves the end of each lease to now + `leaseMs`. */
  renew(leases: readonly JobLease[], leaseMs: number): Promise<boolean[]>;
}

export interface JobSource {
  fetch(request: FetchRequest): Promise<JobLease[]>;
  /** Makes every message with an expired lease ready again; returns how many. Brokers that do it themselves return 0. */
  reapExpired(queue: string): Promise<number>;
}

export interface BackendLimits {
  /** UTF-8 bytes of one body; a larger one is refused before anything is sent. */
  readonly maxBodyBytes: number;
  /** `null` = any delay. */
  readonly maxDelayMs: number | null;
  /** Longest total time one lease can be held by renewing; `null` = no limit. */
  readonly maxLeaseMs: number | null;
}

/**
 * A queue. The eight verbs are `enqueue`, `ack`, `nack`, `abandon`, `renew`, `fetch`, `reapExpired` and `close`; the optional
 * members are features that a queue may have, and `hints`.
 */
export interface QueueBackend extends JobSender, JobSettler, JobSource {
  readonly name: string;
  readonly limits: BackendLimits;
  close(): Promise<void>;
  /**
   * The queue's own time (epoch ms), for one that all hosts share: by it a message is due or expired, whatever the clock of a host says.
   * `tx` may be the caller's transaction, which is then asked. Without it each host's clock decides.
   */
  now?(tx?: SqlTransaction): Promise<number>;
  /** State kept in the same database as the queue; `flow` prefers it, because it can share a transaction. */
  readonly stores?: BackendStores;
  /**
   * The records of its jobs, given those of the jobs that are in it: with the jobs that were enqueued and are still on their way there.
   * So nobody takes a job for ended because nothing is known of it yet. Absent = what is enqueued is there.
   */
  recordsOf?(arrived: RecordStore): RecordStore;
  readonly admin?: QueueAdmin;
  /** Whether the ordered groups of this queue are kept in order. Absent = those of none are. */
  keepsOrder?(queue: string, order: GroupOrder): boolean;
  /** Absent where a broker finds no message by its id. */
  readonly pending?: PendingJobs;
  /** Stores the messages as a part of the caller's transaction: they come to be when it commits, or never. */
  enqueueIn?(tx: SqlTransaction, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  begin?(): Promise<JobTransaction>;
  /** Calls `listener` with what endangers jobs, for people. Returns how to stop that. `connect()` makes it the app's `backend.warning`. */
  onWarning?(listener: (message: string) => void): () => void;
  /** What makes a queue faster. Every law holds without it. */
  readonly hints?: BackendHints;
}

export interface BackendHints {
  /**
   * `ack` and then `fetch` (which does not wait here) as one step, for queues where one transaction is cheaper than two.
   * Fails as a whole: an error means that nothing was settled and nothing fetched.
   */
  ackAndFetch?(
    acks: readonly Ack[],
    request: Omit<FetchRequest, 'waitMs' | 'signal'>,
  ): Promise<{ readonly settled: boolean[]; readonly leases: JobLease[] }>;
  /** For queues that hear what becomes of running jobs, so that these are stopped early and not only refused in the end. */
  watchLeases?(heard: HeardOfLeases): LeaseWatch;
  /** `reapExpired` reaches the leases of all processes: one of them may do it for all. */
  readonly reapsForAll?: true;
}

export interface HeardOfLeases {
  /** The leases with these tokens have ended, because their connection broke. */
  lost(tokens: ReadonlySet<string>): void;
  /** Running jobs may have been cancelled: `RecordStore.cancelRequested` knows. Also called when what is heard has changed. */
  cancelled(): void;
}

export interface LeaseWatch {
  /** Whether every cancel is heard now. While it is `false`, cancels are looked for once a second. */
  readonly hearsCancels: boolean;
  stop(): void;
}

/** A transaction in the queue's own database, which a handler writes in and which the ack belongs to. */
export interface JobTransaction {
  /** For the handler; throws `LEASE_LOST` once the transaction is over. */
  readonly sql: SqlTransaction;
  /**
   * Settles inside the transaction and commits. `false`: the lease was lost, and all was rolled back. Rejects with `HANDLER` when
   * what the handler wrote cannot be committed: all was rolled back, and the lease is still held. After any other error the outcome is unknown.
   */
  ack(ack: Ack): Promise<boolean>;
  /**
   * Commits while the job goes on. `last` writes behind all that the handler has written, and says whether to commit. `false`: the lease was
   * lost, or `last` has said no, and all was rolled back. Rejects as `ack` does.
   */
  commit(lease: JobLease, last: (tx: SqlTransaction) => Promise<boolean>): Promise<boolean>;
  /** Undoes everything. Never rejects: a broken connection has undone it already. */
  rollback(): Promise<void>;
}
