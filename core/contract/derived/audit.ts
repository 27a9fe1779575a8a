/** The seam for the audit log: what people did to queues, jobs, schedules and workers. Appended to, never changed, and kept for 400 days. */

export interface AuditEntry {
  /** Names this entry: 1 to 100 characters of ASCII without spaces. A second one with the same id is not kept. */
  readonly id: string;
  readonly at: number;
  /** Names the action: what tells of its beginning and what tells of its end have the same. */
  readonly operation: string;
  /** `begun` is written before anything is done. Without an end the action still runs, or its process has died. */
  readonly phase: 'begun' | 'done' | 'failed';
  /** Who: a user of this machine, or whom `authorize` named. */
  readonly actor: string;
  /** From where: `cli build-1`, `dashboard 10.0.0.7`, `api`. */
  readonly from: string;
  /** What: `dead.retry`, `queue.pause`. */
  readonly action: string;
  /** To what: an id, a name, or a selection in words. At most 500 characters. */
  readonly target: string;
  /** How many were changed; `null` as long as it is not known. */
  readonly count: number | null;
  /** Why it failed, or what else there is to say. At most 500 characters; never a payload. */
  readonly note: string | null;
}

export interface AuditPage {
  /** By `at`, newest first, and by `id` within a moment. At most 1,000. */
  readonly entries: readonly AuditEntry[];
  /** Where the next page begins; `null` = there is nothing older. */
  readonly next: string | null;
}

export interface AuditLog {
  /** Resolves when it is kept as safely as jobs are. The same entry twice is kept once. Cuts texts that are too long. */
  append(entry: AuditEntry): Promise<void>;
  /** `after` is the `next` of an earlier page; throws `OPTION` for a text that is none. @param filter.max 100 without it */
  page(filter: { readonly max?: number; readonly after?: string }): Promise<AuditPage>;
  /**
   * Removes some entries that are past their age `now`, the oldest first, and returns how many went. It is called until that is 0. A log
   * whose entries expire by themselves answers 0.
   */
  purge(now: number): Promise<number>;
}
