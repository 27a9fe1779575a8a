/**
 * The transport seam: what a queue must be able to do, as plain data and few verbs.
 *
 * Glossary, used with one meaning everywhere:
 * - message   what is sent: a signed envelope (one JSON text) and the few facts a queue needs to route it
 * - lease     the right to run one message once, for a limited time; the only thing a settle verb accepts
 * - token     proof of ownership inside a lease, fresh at every claim; a stale token changes nothing
 * - attempt   one run of a job, counted when the lease is given out, so a run that kills its worker counts too
 * - settle    to end a lease: `ack` (done), `nack` (again, later) or `abandon` (never again)
 * - dead letter   an abandoned message, kept with its reason until somebody retries or discards it.
 *             Azure Service Bus says "abandon" for "give back at once": that is our `nack` with delay 0.
 *
 * Times named `…At`, `…Until` or `notBefore` are epoch milliseconds, lengths named `…Ms` are milliseconds.
 */

import type { LongshoreError } from '../base/errors.ts';
import type { AttemptReport, Progress, Stores } from './store.ts';

export interface OutgoingMessage {
  /** The envelope's identifier. A backend may use it to drop a second copy (`SendResult.duplicate`). */
  readonly id: string;
  /** The id was made for this very call, so nobody can have sent it before: a backend need not look through its history. */
  readonly fresh?: boolean;
  /** More than one attempt may begin. Where that is not said, a lease should not be given to somebody who may not hear of it. */
  readonly repeatable?: boolean;
  /** Names the move that brings it from another queue. It may have been in this one before: a broker must not drop it as a copy of itself. */
  readonly moved?: string;
  readonly queue: string;
  /** Name of the job, for listings only: the envelope's own `job` decides what runs. */
  readonly job: string;
  /** The signed envelope. A backend stores and returns these exact characters and never looks inside. */
  readonly body: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
  /** Hidden until then; `null` = ready at once. */
  readonly notBefore: number | null;
  /** Order and fairness per key where the queue has it (SQS MessageGroupId, Service Bus session). */
  readonly group: string | null;
  /** Whose job it is, for whoever asks about it later; the envelope's own `context` decides what the handler sees. */
  readonly tenantId: string | null;
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
  /** The caller has nothing else to do: a backend may lease it a job in the moment in which the job is enqueued. */
  readonly idle?: boolean;
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
}

export interface Nack {
  readonly delayMs: number;
  /** `false` hands the message back as if this attempt had never begun (shutdown, busy key). */
  readonly countAttempt: boolean;
  readonly report?: AttemptReport;
}

/** Why a message will never run again. All but `cancelled` are listed as dead letters. */
export type AbandonReason = 'permanent' | 'exhausted' | 'crash-loop' | 'rejected' | 'expired' | 'cancelled';

export interface Abandon {
  readonly reason: AbandonReason;
  /** `CODE: message` of what went wrong, for people. */
  readonly error: string;
  readonly report?: AttemptReport;
}

export interface Enqueue {
  /** Rejects only when the backend cannot be reached at all; otherwise one result per message. */
  (messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  /**
   * For many messages that must not leave yet, because others shall arrive before them: does now what costs time. The function
   * returned sends them; it is called once. It belongs to `enqueue`, so that whoever wraps that need not know of it.
   */
  readonly pack?: (messages: readonly OutgoingMessage[]) => () => Promise<SendResult[]>;
}

export interface JobSender {
  readonly enqueue: Enqueue;
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
  /** Makes messages with an expired lease ready again; returns how many. Brokers that do it themselves return 0. */
  reapExpired(queue: string): Promise<number>;
}

/** What a fused `ackAndFetch` gives back: the answers of both verbs. */
export interface AckedAndFetched {
  readonly settled: boolean[];
  readonly leases: JobLease[];
}

export interface BackendLimits {
  /** UTF-8 bytes of one body; a larger one is refused before anything is sent. */
  readonly maxBodyBytes: number;
  /** `null` = any delay. */
  readonly maxDelayMs: number | null;
  /** Longest total time one lease can be held by renewing; `null` = no limit. */
  readonly maxLeaseMs: number | null;
}

/** A database transaction of the caller's: a client of `pg` between BEGIN and COMMIT, or an adapter around another library's. */
export interface SqlTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** A transaction in the queue's own database, which a handler writes in and which the ack belongs to. */
export interface JobTransaction {
  /** For the handler; throws `LEASE_LOST` once the transaction is over. */
  readonly sql: SqlTransaction;
  /**
   * Settles inside the transaction and commits. `false`: the lease was lost, and all was rolled back. Rejects with `HANDLER` when what
   * the handler wrote cannot be committed: all was rolled back, and the lease is still held. After another error nobody knows.
   */
  ack(ack: Ack): Promise<boolean>;
  /** Undoes everything. Never rejects: a broken connection has undone it already. */
  rollback(): Promise<void>;
}

export interface QueueBackend extends JobSender, JobSettler, JobSource {
  readonly name: string;
  readonly limits: BackendLimits;
  /** State kept in the same database as the queue; `flow` prefers it, because it can share a transaction. */
  readonly stores?: Stores;
  readonly admin?: QueueAdmin;
  /** Brings the stored tables to the version this code knows, where opening has not done so. `from` is null for new ones. */
  migrate?(): Promise<{ readonly from: number | null; readonly to: number }>;
  /**
   * `ack` and then `fetch` (which does not wait here) as one step, for queues where one transaction is cheaper than two.
   * Fails as a whole: an error means that nothing was settled and nothing fetched.
   */
  ackAndFetch?(
    acks: readonly Ack[],
    request: Omit<FetchRequest, 'waitMs' | 'signal'>,
  ): Promise<AckedAndFetched>;
  /** Stores the messages as a part of the caller's transaction: they come to be when it commits, or never. */
  enqueueIn?(tx: SqlTransaction, messages: readonly OutgoingMessage[]): Promise<SendResult[]>;
  begin?(): Promise<JobTransaction>;
  /**
   * Where leases can be lost at once and not only by their time (a connection takes them with it): called with the tokens of those
   * that were, so that their jobs are stopped and not only refused in the end. Returns how to listen no more.
   */
  onLost?(listener: (tokens: ReadonlySet<string>) => void): () => void;
  close(): Promise<void>;
}

export interface QueueStats {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly leased: number;
  readonly dead: number;
  readonly paused: boolean;
  /** Age of the oldest ready message in ms; `null` when none is ready. */
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

export interface DeadLetters {
  /** Newest first. */
  list(filter: { queue?: string; max?: number }): Promise<DeadLetter[]>;
  /** Makes them ready again with their attempts forgotten; returns how many were found. */
  retry(ids: readonly string[]): Promise<number>;
  discard(ids: readonly string[]): Promise<number>;
}

/** A waiting message or a dead letter with all that another backend needs to go on with it as if it had always been there. */
export interface MovedJob {
  /** `notBefore` is never null: of a ready message it is the moment since which it has been ready. */
  readonly message: OutgoingMessage;
  readonly createdAt: number;
  /** How many have begun. */
  readonly attempts: number;
  readonly interrupted: boolean;
  readonly reports: readonly AttemptReport[];
  readonly progress: Progress | null;
  /** `null` = it waits. */
  readonly death: { readonly reason: AbandonReason; readonly error: string; readonly at: number } | null;
}

/**
 * How a backlog leaves one backend and comes to another. A held message is out of everybody's reach (workers, `clear`, the
 * reaper) until `release` or `remove`, beyond the end of the process that has taken it, and is counted as leased.
 * The order `hold`, `put` there, `remove` here, `release` there can be broken off anywhere and begun again: nothing runs twice.
 */
export interface QueueTransfer {
  /** Takes up to `max` waiting messages in their order, ready before delayed. Their attempts do not count. */
  hold(queue: string, max: number): Promise<MovedJob[]>;
  /** Those that are held, whoever took or put them. */
  held(queue: string, max: number): Promise<MovedJob[]>;
  /** Stores messages of one queue as they are: waiting ones held, dead ones as dead letters. A known id changes nothing and is a duplicate. */
  put(jobs: readonly MovedJob[]): Promise<SendResult[]>;
  /** Puts held messages in line as they were; returns how many. One that somebody asked to cancel meanwhile ends here. */
  release(queue: string, ids: readonly string[]): Promise<number>;
  /** Removes held messages and their records. `false`: it is not held, or somebody asked to cancel it: then it has ended so. */
  remove(queue: string, ids: readonly string[]): Promise<boolean[]>;
}

/** What a queue that cannot hold messages may offer instead, so that delayed ones, attempts and dead letters move too. */
export interface QueueHandover {
  /** The next delayed messages, which stay where they are: up to `max`, and at least one if there are any. */
  delayed(queue: string, max: number): Promise<MovedJob[]>;
  /** Removes messages that still wait for their time; `false` for any other. */
  removeDelayed(queue: string, ids: readonly string[]): Promise<boolean[]>;
  /** Stores messages with their attempts: waiting ones in line at once, dead ones as dead letters. Not offered where neither is kept. */
  put?(jobs: readonly MovedJob[]): Promise<SendResult[]>;
}

/** What the CLI and the dashboard use. */
export interface QueueAdmin {
  readonly deadLetters: DeadLetters;
  /** Not offered where messages cannot be held. */
  readonly transfer?: QueueTransfer;
  /** Used where there is no `transfer`. */
  readonly handover?: QueueHandover;
  /** Tells a backend that cannot list its queues which there are. Asks nothing of the service. */
  know?(queues: readonly string[]): Promise<void>;
  /** All queues ever used, or only the one named. */
  stats(queue?: string): Promise<QueueStats[]>;
  /** The next messages in the order in which they would be fetched, ready before delayed. */
  peek(queue: string, max: number): Promise<PeekedMessage[]>;
  /** Removes ready and delayed messages; running ones and dead letters stay. Returns how many. */
  clear(queue: string): Promise<number>;
  /** A paused queue gives out no leases; running jobs end normally. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
}
