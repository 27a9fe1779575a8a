/** Texts that are compared and swapped: what the steps of jobs have left, and which jobs wait for an event. */

import type { SqlTransaction } from '../texts.ts';

export interface StepText {
  readonly text: string;
  /** A new one at every write, never one that this name has had before. */
  readonly version: string;
}

/**
 * Of two writers that have read the same version one succeeds. Names are of 1 to 500 characters, any that can be stored; texts
 * are JSON of at most 262,144 bytes, with U+2028 and U+2029 escaped. They are signed, so they come back byte for byte.
 */
export interface StepStore {
  /** `null` = there is none. One past its `endsAt` may still be there. */
  read(name: string): Promise<StepText | null>;
  /**
   * Writes over the version that was read, `null` = there is none yet. Resolves with the new version, or with one that nothing can be
   * written over, so that it has to be read again; `null` = another writer was first, and nothing has changed.
   *
   * @param endsAt from then on it may be removed (epoch ms, whole)
   */
  write(name: string, text: string, over: string | null, endsAt: number): Promise<string | null>;
  /** `false` = there is none, or another version. */
  remove(name: string, version: string): Promise<boolean>;
  /** The same texts, read and written in a transaction of the database that keeps them. Absent where there is none. */
  within?(tx: SqlTransaction): StepStore;
}
