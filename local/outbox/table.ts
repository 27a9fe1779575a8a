/** What the outbox needs of a database: rows of text per target, and that one relay at a time moves them. */

import type { LongshoreError } from '../../core/base/errors.ts';
import type { SqlTransaction } from '../../core/contract/queue.ts';

/** What became of a row that was given to the target. */
export type Fate =
  /** The target has it: the row goes. */
  | { readonly state: 'sent' }
  /** The target will never take it: the row is set aside with its error. `id` and `queue` are for listings. */
  | { readonly state: 'refused'; readonly id: string; readonly queue: string; readonly error: LongshoreError }
  /** The row stays where it is; `error` is null when it was not tried. */
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
  /** `null` = the relay has still to move it. */
  readonly refused: { readonly at: number; readonly error: string } | null;
}

export interface OutboxBacklog {
  /** Rows that the relay has still to move. */
  readonly waiting: number;
  /** How long the oldest has waited; `null` = there is none. If it grows, no relay runs, or the target is down. */
  readonly oldestMs: number | null;
  /** Rows that the target refuses, kept until they are retried or discarded. */
  readonly refused: number;
}

export interface OutboxTable {
  /** The rows are stored when `tx` commits; without `tx`, when this resolves. */
  write(target: string, messages: readonly NewRow[], tx: SqlTransaction | null): Promise<void>;
  /**
   * Gives the next rows to `send`, in the order in which they were written, and then applies their fates. Meanwhile no other relay
   * gets rows of this target. If the relay dies, every row stays where it was.
   *
   * @param most rows
   * @param withinMs how long `send` takes at most; after that the rows are free for other relays
   * @param ids of messages that go before the others, each behind those of its group; `empty` = none of them is there
   */
  move(
    target: string,
    most: number,
    withinMs: number,
    send: (texts: readonly string[]) => Promise<readonly Fate[]>,
    ids?: readonly string[],
  ): Promise<'moved' | 'empty' | 'busy' | 'closed'>;
  /**
   * Call it before looking for rows. The function it returns resolves when new rows may have come since, when it is time to look
   * anyway, or when `signal` aborts.
   */
  watch(): (signal: AbortSignal) => Promise<void>;
  /** `null` = it was moved, or never written. */
  find(target: string, id: string): Promise<OutboxRow | null>;
  backlog(target: string): Promise<OutboxBacklog>;
  /** Newest first. `queue` null = any. */
  refused(target: string, queue: string | null, most: number): Promise<RefusedRow[]>;
  /** Requeues refused rows behind those that wait; returns how many were found. */
  retry(target: string, ids: readonly string[]): Promise<number>;
  discard(target: string, ids: readonly string[]): Promise<number>;
}
