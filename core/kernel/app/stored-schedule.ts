/** Schedules that are made at run time, beside those in code. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Job } from './job.ts';
import type { ScheduleDefinition } from './schedule.ts';

/** As in code, but for `ping`: a function cannot be stored. */
export interface StoredScheduleDefinition<Input> extends Omit<ScheduleDefinition<Input>, 'ping'> {
  /** One of the app's. Its name is stored, and each tick asks the app for the job of that name. */
  readonly job: Job<Input>;
  /** Checked against the job's schema now, and again with each job. With the rest at most 64 KiB as JSON. */
  readonly payload: NoInfer<Input>;
  /** The context of every job that it enqueues. */
  readonly context?: JobContext;
}

/** Plain data. */
export interface StoredScheduleInfo {
  readonly name: string;
  /** For people: the cron text with its time zone, or `every 5000 ms`. */
  readonly timing: string;
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timezone: string;
  /** Its name. The app may not have it any more: then `failure` says so. Empty where the schedule does not verify: nothing of it is shown then. */
  readonly job: string;
  readonly payload: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  readonly context: JobContext | null;
  readonly createdAt: number;
  /** When it was last upserted, paused or resumed. */
  readonly changedAt: number;
  /** When a tick looks at it next; `null` = it is paused, or never comes due again. */
  readonly nextAt: number | null;
  /** Since then nothing is enqueued; `null` = it is not paused. */
  readonly pausedAt: number | null;
  /** Why the last tick could not enqueue its job; `null` = it could. It is tried again after half a minute. */
  readonly failure: {
    /** When it was last tried, epoch ms. */
    readonly at: number;
    /** The moment that it owes; absent = the release before this one has written it. */
    readonly since?: number;
    readonly code: string;
    readonly message: string;
  } | null;
}

/** Every verb throws `CONFIG` where no store keeps schedules, and `OPTION` for a name that no schedule can have. */
export interface Schedules {
  /**
   * Makes a schedule, or changes the one of this name: what is not given gets its default. Its moments begin now, also when cron, `everyMs`
   * or `timezone` have changed; a paused one stays paused. Throws `OPTION` for a definition that cannot be and for a name that is in code,
   * `UNKNOWN_JOB`, `PAYLOAD`, `LIMIT`, and `CONFIG` for `overlap: 'skip'` where nothing can tell whether a job has ended.
   */
  upsert<Input>(definition: StoredScheduleDefinition<Input>): Promise<StoredScheduleInfo>;
  /** `null` = no schedule of this name was made at run time. */
  get(name: string): Promise<StoredScheduleInfo | null>;
  /** Schedules made at run time, sorted by name. `next`: the `after` of the next page; `null` = this is the last one. @param page max: 1 to 1,000, default 100 */
  list(page?: {
    readonly after?: string;
    readonly max?: number;
  }): Promise<{ readonly schedules: readonly StoredScheduleInfo[]; readonly next: string | null }>;
  /** Jobs that are enqueued stay. `false` = there was none. */
  remove(name: string): Promise<boolean>;
  /** Moments that become due until it is resumed are skipped. Also pauses a schedule in code. `false` = it was paused already. Throws `NOT_FOUND`. */
  pause(name: string): Promise<boolean>;
  /** Its next moment is the first after now. Also one in code. `false` = it was not paused. Throws `NOT_FOUND`. */
  resume(name: string): Promise<boolean>;
  /** Enqueues its job now, beside its moments; resolves with the id. Also one in code. Throws `NOT_FOUND`, and as `enqueue`. */
  runNow(name: string): Promise<string>;
}

export interface LateStored {
  readonly schedule: string;
  /** How long it has been due. */
  readonly lateMs: number;
  /** Why a tick could not enqueue its job; `null` = nothing ticks it. */
  readonly why: string | null;
}

export interface LateStoredSchedules {
  /** The latest first. */
  readonly late: readonly LateStored[];
  /** There may be more: not all due schedules were read. */
  readonly more: boolean;
}
