/** What the outbox needs of a database: rows of text per target, and that one relay at a time moves them. */

import type { LongshoreError } from '../../core/base/errors.ts';
import type { SqlTransaction } from '../../core/contract/queue.ts';

/** What became of a row that was given to the target. */
export type Fate =
  /** The target has it: the row goes. */
  | { readonly state: 'sent' }
  /** The target will never take it: the row is put aside with its error. `id` and `queue` are for whoever asks for it. */
  | { readonly state: 'refused'; readonly id: string; readonly queue: string; readonly error: LongshoreError }
  /** The row stays where it is; `error` is null when it was not tried. */
  | { readonly state: 'kept'; readonly error: LongshoreError | null };

export interface RefusedRow {
  readonly id: string;
  readonly queue: string;
  /** `CODE: message` */
  readonly error: string;
  readonly refusedAt: number;
  readonly text: string;
}

export interface OutboxBacklog {
  /** Rows that the relay has still to move. */
  readonly waiting: number;
  /** How long the first of them has waited; `null` when there is none. Growing means that no relay runs, or that the target is down. */
  readonly oldestMs: number | null;
  /** Rows that the target will not take, kept until somebody retries or discards them. */
  readonly refused: number;
}

export interface OutboxTable {
  /** The rows come to be when `tx` commits, or never; without `tx`, when this resolves. */
  write(target: string, texts: readonly string[], tx: SqlTransaction | null): Promise<void>;
  /**
   * Gives the next rows to `send`, in the order in which they were written, and then does to each what its fate says.
   * While that lasts no other relay gets rows of this target. A relay that dies meanwhile leaves every row where it was.
   *
   * @param most rows
   * @param withinMs how long `send` takes at most; one that takes longer loses its right to the rows
   */
  move(
    target: string,
    most: number,
    withinMs: number,
    send: (texts: readonly string[]) => Promise<readonly Fate[]>,
  ): Promise<'moved' | 'empty' | 'busy' | 'closed'>;
  /**
   * To be called before looking for rows. The function it returns resolves when some may have come since, or when it is
   * time to look anyway; at once when `signal` aborts.
   */
  watch(): (signal: AbortSignal) => Promise<void>;
  backlog(target: string): Promise<OutboxBacklog>;
  /** Newest first. `queue` null = any. */
  refused(target: string, queue: string | null, most: number): Promise<RefusedRow[]>;
  /** Puts refused rows in line again, behind those that wait; returns how many were found. */
  retry(target: string, ids: readonly string[]): Promise<number>;
  discard(target: string, ids: readonly string[]): Promise<number>;
}
