/** Schedules that were made at run time: where they are kept, and how a tick finds those that are due. */

/** A schedule as a store keeps it: it looks at the name and the moment, and never into the text. */
export interface ScheduleRow {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`. */
  readonly name: string;
  /** When a tick has to look at it, epoch ms; `null` = never, as long as it stays as it is. */
  readonly nextAt: number | null;
  /** At most 100,000 characters. */
  readonly text: string;
}

export interface StoredSchedule extends ScheduleRow {
  /** A new one at every write. */
  readonly version: string;
}

/** Any number of them: a tick costs what is due, however many there are. */
export interface ScheduleStore {
  get(name: string): Promise<StoredSchedule | null>;
  /** Writes over the version that was read, `null` = there is none yet. `false`: another writer was first, and nothing changed. */
  write(row: ScheduleRow, over: string | null): Promise<boolean>;
  /** `false` = there was none. */
  remove(name: string): Promise<boolean>;
  /** In the order of the characters of their names, those behind `after`. */
  list(page: { readonly after?: string; readonly max: number }): Promise<readonly StoredSchedule[]>;
  /** Those to look at until then, the earliest first. */
  due(until: number, max: number): Promise<readonly StoredSchedule[]>;
}
