/** The contract for a database with an outbox: it stores rows per target, and lets one relay at a time move them. */

import type { LongshoreError } from '../../core/base/errors.ts';
import type { SqlTransaction } from '../../core/contract/queue.ts';

/** The result for a row that was given to the target. */
export type Fate =
  /** The target has the message: delete the row. */
  | { readonly state: 'sent' }
  /** The target will never accept the message: set the row aside with its error. `id` and `queue` are for lists. */
  | { readonly state: 'refused'; readonly id: string; readonly queue: string; readonly error: LongshoreError }
  /** The row stays. `error` is null if it was not tried. */
  | { readonly state: 'kept'; readonly error: LongshoreError | null };

export interface NewRow {
  /** Id of the message. */
  readonly id: string;
  readonly text: string;
}

export interface RefusedRow {
  readonly id: string;
  readonly queue: string;
  /** `CODE: message` */
  readonly error: string;
  readonly refusedAt: number;
  readonly text: string;
}

export interface OutboxRow {
  readonly text: string;
  readonly writtenAt: number;
  /** `null` = still to be moved by the relay. */
  readonly refused: { readonly at: number; readonly error: string } | null;
}

export interface OutboxBacklog {
  /** Rows that the relay must still move. */
  readonly waiting: number;
  /** How long the oldest row has waited; `null` = no row is waiting. If this grows, no relay runs or the target is down. */
  readonly oldestMs: number | null;
  /** Rows that the target refused, kept until they are retried or discarded. */
  readonly refused: number;
}

export interface OutboxTable {
  /** The rows are stored when `tx` commits; without `tx`, when this resolves. */
  write(target: string, messages: readonly NewRow[], tx: SqlTransaction | null): Promise<void>;
  /**
   * Gives the next rows to `send`, in the order in which they were written, and then applies the results. Meanwhile no other relay gets
   * rows of this target. If the relay dies, every row stays.
   *
   * @param most maximum number of rows
   * @param withinMs maximum time of `send`; after that the rows are free for other relays
   * @param ids messages to move first, each after earlier messages of its group; `empty` = none of them is in the outbox
   */
  move(
    target: string,
    most: number,
    withinMs: number,
    send: (texts: readonly string[]) => Promise<readonly Fate[]>,
    ids?: readonly string[],
  ): Promise<'moved' | 'empty' | 'busy' | 'closed'>;
  /**
   * Call it before reading rows. It returns a function that resolves when new rows may have come since, when it is time to check anyway,
   * or when `signal` aborts.
   */
  watch(): (signal: AbortSignal) => Promise<void>;
  /** `null` = it was moved, or never written. */
  find(target: string, id: string): Promise<OutboxRow | null>;
  backlog(target: string): Promise<OutboxBacklog>;
  /** Newest first. `queue` null = any. */
  refused(target: string, queue: string | null, most: number): Promise<RefusedRow[]>;
  /** Requeues refused rows after the waiting ones; returns how many were found. */
  retry(target: string, ids: readonly string[]): Promise<number>;
  discard(target: string, ids: readonly string[]): Promise<number>;
}
