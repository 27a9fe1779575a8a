/**
 * Named texts with compare-and-swap. A backend keeps them; `core/kit/texts` builds steps, schedules, metrics, the audit log, heartbeats,
 * limits and batches on them.
 *
 * Names have 1 to 600 characters. Any character may occur: NUL, `/`, quotes and lone surrogates too. Texts are well-formed Unicode without
 * NUL. They must come back unchanged, because some are signed; a store may only replace U+2028 and U+2029 by their JSON escapes.
 */

/** A database transaction of the caller: a client of `pg` between BEGIN and COMMIT, or an adapter around another library's client. */
export interface SqlTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

export interface StoredText {
  readonly text: string;
  /** New at every write; this name has never had it before. */
  readonly version: string;
  /** Age of the text by the store's clock. Absent if the store has no clock that its hosts share. */
  readonly agoMs?: number;
}

export interface NamedText extends StoredText {
  readonly name: string;
}

export interface TextWrite {
  readonly name: string;
  readonly text: string;
  /**
   * The version that was read; `null` = there must be no text yet. Absent = write over any text. If the same text with the same `endsAt` is
   * there already, it may keep its version and age.
   */
  readonly ifVersion?: string | null;
  /** The text may be removed from then on (epoch ms, whole); `null` = never. */
  readonly endsAt: number | null;
}

export interface TextRemoval {
  readonly name: string;
  /** The version that was read. Absent = remove any version. */
  readonly ifVersion?: string;
}

export interface TextRange {
  /** The beginning of the names. */
  readonly prefix: string;
  /** Only names after this one. */
  readonly after?: string;
  /** Only names before this one. */
  readonly before?: string;
  /** Only names that contain this text. A store may ignore it: it only saves transport. */
  readonly containing?: string;
  readonly max: number;
}

/**
 * Each verb takes several texts with different names, and answers in the same order. Every text changes by itself: if two writers have read the
 * same version, one succeeds. A call that rejects may have changed some of its texts.
 */
export interface TextStore {
  /** The longest text, in bytes of UTF-8; at least 300,000. @default any length */
  readonly mostBytes?: number;
  /** The longest pause of a writer before it repeats a lost race. It doubles with each further loss. @default 0 */
  readonly pauseMs?: number;
  /** Expired texts (past `endsAt`) are removed by the store. If absent, a purge of the records removes them. */
  readonly expires?: true;
  /** `null` = not found. An expired text (past its `endsAt`) may still be returned. */
  read(names: readonly string[]): Promise<readonly (StoredText | null)[]>;
  /**
   * The new versions, or versions that match no later write, so that the text has to be read again. `null` = another writer was first, and the
   * text has not changed.
   */
  write(texts: readonly TextWrite[]): Promise<readonly (string | null)[]>;
  /** `false` = not found, or it has another version. */
  remove(texts: readonly TextRemoval[]): Promise<readonly boolean[]>;
  /** In the order of the characters of their names. Fewer than `max` = there are no others. */
  list(range: TextRange): Promise<readonly NamedText[]>;
  /** The same store, reading and writing inside a transaction of its database. Absent if the store has no such database. */
  within?(tx: SqlTransaction): Pick<TextStore, 'read' | 'write' | 'remove'>;
}
