/** The audit log: what people did to queues, jobs, schedules and workers. Entries are only appended, and kept for 400 days. */

export interface AuditEntry {
  /** Identifies this entry: 1 to 100 ASCII characters without spaces. A second entry with the same id is dropped. */
  readonly id: string;
  readonly at: number;
  /** Identifies the action: its `begun` entry and its `done` or `failed` entry have the same value. */
  readonly operation: string;
  /** `begun` is written before the action starts. If no end follows, the action is still running or its process has died. */
  readonly phase: 'begun' | 'done' | 'failed';
  /** Who did it: a user of this machine, or the actor that `authorize` returned. */
  readonly actor: string;
  /** Where from: `cli build-1`, `dashboard 10.0.0.7`, `api`. */
  readonly from: string;
  /** The action: `dead.retry`, `queue.pause`. */
  readonly action: string;
  /** The target: an id, a name, or a selection in words. At most 500 characters. */
  readonly target: string;
  /** How many items were changed; `null` while it is not known. */
  readonly count: number | null;
  /** The reason of the failure, or a remark. At most 500 characters; never a payload. */
  readonly note: string | null;
}

export interface AuditPage {
  /** By `at`, newest first, and by `id` within a moment. At most 1,000. */
  readonly entries: readonly AuditEntry[];
  /** Where the next page begins; `null` = there are no older entries. */
  readonly next: string | null;
}

export interface AuditLog {
  /** Resolves when the entry is stored as durably as a job. The same entry twice is stored once. Texts that are too long are cut. */
  append(entry: AuditEntry): Promise<void>;
  /** `after` is the `next` of an earlier page; any other text throws `OPTION`. @param filter.max default 100 */
  page(filter: { readonly max?: number; readonly after?: string }): Promise<AuditPage>;
  /**
   * Removes some entries that have expired at `now`, the oldest first, and returns how many it removed. It is called until that is 0. A log
   * whose entries expire by themselves returns 0.
   */
  purge(now: number): Promise<number>;
}
