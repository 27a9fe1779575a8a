/** Compare-and-swap texts: the results of job steps, and the jobs that wait for an event. */

import type { SqlTransaction } from '../texts.ts';

export interface StepText {
  readonly text: string;
  /** New at every write; this name has never had it before. */
  readonly version: string;
}

/**
 * If two writers have read the same version, one succeeds. Names have 1 to 500 characters, any that can be stored. Texts are JSON of at most
 * 262,144 bytes, with U+2028 and U+2029 escaped. They are signed, so they must come back byte for byte.
 */
export interface StepStore {
  /** `null` = not found. An expired text (past its `endsAt`) may still be returned. */
  read(name: string): Promise<StepText | null>;
  /**
   * Writes if the stored version is still `over`; `null` = there must be no text of this name. Resolves with the new version, or with a version
   * that matches no later write, so that the text has to be read again. `null` = another writer was first, and nothing changed.
   *
   * @param endsAt the text may be removed from then on (epoch ms, whole)
   */
  write(name: string, text: string, over: string | null, endsAt: number): Promise<string | null>;
  /** `false` = not found, or it has another version. @param version absent = remove any version */
  remove(name: string, version?: string): Promise<boolean>;
  /** The same store, reading and writing inside a transaction of its database. Absent if the store has no such database. */
  within?(tx: SqlTransaction): StepStore;
}
