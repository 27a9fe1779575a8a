/**
 * Texts by name, compared and swapped. A backend keeps them; `core/kit/texts` makes steps, schedules, numbers, the audit log, heartbeats,
 * limits and batches of them.
 *
 * Names are 1 to 600 characters, any of them: NUL, `/`, quotes and lone surrogates too. Texts are well-formed Unicode without NUL and come
 * back to the letter, because some are signed. A store may only write U+2028 and U+2029 as JSON escapes them.
 */

/** A database transaction of the caller's: a client of `pg` between BEGIN and COMMIT, or an adapter around another library's. */
export interface SqlTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

export interface StoredText {
  readonly text: string;
  /** A new one at every write, never one that this name has had before. */
  readonly version: string;
  /** How long ago it was written, by the clock of the store. Absent where the store has no clock that its hosts share. */
  readonly agoMs?: number;
}

export interface NamedText extends StoredText {
  readonly name: string;
}

export interface TextWrite {
  readonly name: string;
  readonly text: string;
  /**
   * The version that was read, `null` = there is none yet. Absent = whatever is there; if it is this text with this end, it may stay as it
   * is, with its version and its age.
   */
  readonly ifVersion?: string | null;
  /** From then on it may be removed (epoch ms, whole); `null` = it stays. */
  readonly endsAt: number | null;
}

export interface TextRemoval {
  readonly name: string;
  /** The version that was read. Absent = whatever is there. */
  readonly ifVersion?: string;
}

export interface TextRange {
  /** What the names begin with. */
  readonly prefix: string;
  /** Names behind this one. */
  readonly after?: string;
  /** Names before this one. */
  readonly before?: string;
  /** Only names with this text in them. A store may list others too: it only saves their transport. */
  readonly containing?: string;
  readonly max: number;
}

/**
 * Each verb takes several texts, of different names, and answers for each in its place. Every text changes by itself: of two writers that
 * have read the same version one succeeds, and a call that rejects may have changed some of its texts.
 */
export interface TextStore {
  /** The longest text, in bytes of UTF-8: at least 300,000. @default any length */
  readonly mostBytes?: number;
  /** How long a writer that has lost a race waits before it tries again: up to so long, then up to twice as long, and so on. @default 0 */
  readonly pauseMs?: number;
  /** Texts past their `endsAt` go by themselves. Without it a purge of the records removes them. */
  readonly expires?: true;
  /** `null` = there is none. One past its `endsAt` may still be there. */
  read(names: readonly string[]): Promise<readonly (StoredText | null)[]>;
  /**
   * The new versions, or ones that nothing can be written over, so that the text has to be read again. `null` = another writer was first,
   * and the text has not changed.
   */
  write(texts: readonly TextWrite[]): Promise<readonly (string | null)[]>;
  /** `false` = there was none, or another version. */
  remove(texts: readonly TextRemoval[]): Promise<readonly boolean[]>;
  /** In the order of the characters of their names. Fewer than `max`: there are no others. */
  list(range: TextRange): Promise<readonly NamedText[]>;
  /** The same texts, read and written in a transaction of the database that keeps them. Absent where there is none. */
  within?(tx: SqlTransaction): Pick<TextStore, 'read' | 'write' | 'remove'>;
}
