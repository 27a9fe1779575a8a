/** Schedules that are made at run time, beside those in code. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Job } from './job.ts';
import type { ScheduleDefinition } from './schedule.ts';

/** As in code, but without `ping`: a function cannot be stored. */
export interface StoredScheduleDefinition<Input> extends Omit<ScheduleDefinition<Input>, 'ping'> {
  /** One of the app's jobs. Its name is stored, and each tick looks up the job of that name in the app. */
  readonly job: Job<Input>;
  /** Checked against the job's schema now, and again for each job. The whole schedule: at most 64 KiB as JSON. */
  readonly payload: NoInfer<Input>;
  /** It ends after this many runs, 1 or more. Runs that are skipped, and those of `runNow`, do not count. @default no limit */
  readonly limit?: number;
  /** The context of every job that the schedule enqueues. */
  readonly context?: JobContext;
}

/** A schedule made at run time, as plain data. */
export interface StoredScheduleInfo {
  readonly name: string;
  /** For people: the cron text with its time zone, or `every 5000 ms`. */
  readonly timing: string;
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timezone: string;
  /** The job's name. If the app no longer has the job, `failure` says so. Empty if the schedule's signature is invalid: then nothing of it is shown. */
  readonly job: string;
  readonly payload: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  /** No run is due after this time, epoch ms; `null` = it never ends. */
  readonly until: number | null;
  /** It ends after this many runs; `null` = no limit. */
  readonly limit: number | null;
  readonly context: JobContext | null;
  readonly createdAt: number;
  /** When it was last upserted, paused or resumed, epoch ms. */
  readonly changedAt: number;
  /** When a tick next looks at it, epoch ms; `null` = it is paused, has ended, or never comes due again. */
  readonly nextAt: number | null;
  /** When it was paused, epoch ms; `null` = it is not paused. */
  readonly pausedAt: number | null;
  /** Why the last tick could not enqueue its job; `null` = it could. The next try is half a minute later. */
  readonly failure: {
    /** When it was last tried, epoch ms. */
    readonly at: number;
    /** The due time of the run that failed; absent = written by an older release. */
    readonly since?: number;
    readonly code: string;
    readonly message: string;
  } | null;
}

/** Every call throws `CONFIG` if no store keeps schedules, and `OPTION` for an invalid name. */
export interface Schedules {
  /**
   * Creates a schedule, or replaces the one of this name: a missing option gets its default. Due times are counted from now on if it is new or
   * its `cron`, `everyMs` or `timezone` changes; then the runs are counted anew, too. A paused schedule stays paused. Throws `OPTION` for an invalid definition and for the name of a
   * schedule in code; `UNKNOWN_JOB`, `PAYLOAD`, `LIMIT`; and `CONFIG` for `overlap: 'skip'` if no records are kept.
   */
  upsert<Input>(definition: StoredScheduleDefinition<Input>): Promise<StoredScheduleInfo>;
  /** `null` = there is no schedule of this name that was made at run time. */
  get(name: string): Promise<StoredScheduleInfo | null>;
  /** Schedules made at run time, by name. `next`: the `after` of the next page; `null` = this is the last page. @param page max: 1 to 1,000, default 100 */
  list(page?: {
    readonly after?: string;
    readonly max?: number;
  }): Promise<{ readonly schedules: readonly StoredScheduleInfo[]; readonly next: string | null }>;
  /** Removes the schedule. Jobs that it has enqueued stay. `false` = there was no such schedule. */
  remove(name: string): Promise<boolean>;
  /** Pauses a schedule, in code too: runs that come due until `resume()` are skipped. `false` = it was already paused. Throws `NOT_FOUND`. */
  pause(name: string): Promise<boolean>;
  /** Resumes a schedule, in code too: the next run is the first one after now. `false` = it was not paused. Throws `NOT_FOUND`. */
  resume(name: string): Promise<boolean>;
  /** Enqueues the job of a schedule now, in code too, as an extra run. Resolves with the job's id. Throws `NOT_FOUND`, and as `enqueue`. */
  runNow(name: string): Promise<string>;
}

export interface LateStored {
  readonly schedule: string;
  /** How long it has been due, ms. */
  readonly lateMs: number;
  /** Why a tick could not enqueue its job; `null` = no tick has looked at it. */
  readonly why: string | null;
}

export interface LateStoredSchedules {
  /** The latest first. */
  readonly late: readonly LateStored[];
  /** `true` = not all due schedules were read, so more may be late. */
  readonly more: boolean;
}
