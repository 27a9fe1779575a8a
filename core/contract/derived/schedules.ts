/** Schedules that were created at run time: their storage, and the lookup of due ones by a tick. */

/** A stored schedule. A store reads the name and the time, and must not parse the text. */
export interface ScheduleRow {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`. */
  readonly name: string;
  /** When a tick has to handle it, epoch ms; `null` = never, until it is changed. */
  readonly nextAt: number | null;
  /** At most 100,000 characters. */
  readonly text: string;
}

export interface StoredSchedule extends ScheduleRow {
  /** New at every write. */
  readonly version: string;
}

/** Holds any number of schedules: a tick costs only what is due. */
export interface ScheduleStore {
  get(name: string): Promise<StoredSchedule | null>;
  /**
   * Writes if the stored version is still `over`; `null` = there must be no schedule of this name. `false` = another writer was first, and
   * nothing changed.
   */
  write(row: ScheduleRow, over: string | null): Promise<boolean>;
  /** `false` = it did not exist. */
  remove(name: string): Promise<boolean>;
  /** In the order of the characters of their names; only names after `after`. */
  list(page: { readonly after?: string; readonly max: number }): Promise<readonly StoredSchedule[]>;
  /** Schedules whose `nextAt` is at or before `until`, earliest first. */
  due(until: number, max: number): Promise<readonly StoredSchedule[]>;
}
