/** Schedules that an app defines in code. */

import { checkName, checkOptions, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import { onDemand } from '../../base/lazy.ts';
import type { Job } from './job.ts';
import { endingAt, intervalOf, isEnd, type NextAfter, timingOf } from './timing.ts';

export type PingKind = 'start' | 'success' | 'fail';

/**
 * Called when an attempt of the schedule's job starts, and when the job is done or has failed for good. After 5 s `signal` aborts and
 * the call is abandoned. If the call fails, an event reports it; the job is not affected.
 */
export type Ping = (kind: PingKind, signal: AbortSignal) => unknown;

export interface Schedule {
  readonly name: string;
  /** For people: the cron text with its time zone, or `every 5000 ms`. */
  readonly timing: string;
  /** `null` = the schedule has a cron pattern. */
  readonly everyMs: number | null;
  readonly job: Job;
  readonly payload: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  readonly ping: Ping | null;
  readonly nextAfter: NextAfter;
}

export interface ScheduleDefinition<Input> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`; also the schedule's key in the store. */
  readonly name: string;
  /** A cron pattern of five fields, or six with seconds first. Give either this or `everyMs`. */
  readonly cron?: string;
  /** A fixed interval in ms, 1000 or more. Counted from the epoch, so that all hosts agree. */
  readonly everyMs?: number;
  /** An IANA name. docs/lifecycle.md explains daylight saving time. @default 'UTC' */
  readonly timezone?: string;
  /** The job to enqueue; one of the app's. */
  readonly job: Job<Input>;
  /** The payload of every run. */
  readonly payload: NoInfer<Input>;
  /** `skip`: a run is left out while the job of the previous run has not ended. @default 'allow' */
  readonly overlap?: 'skip' | 'allow';
  /** Runs that were due while no worker ticked: `skip` all, run the last `one`, or run `all`. @default 'one' */
  readonly missed?: 'skip' | 'one' | 'all';
  /** No run is due after this time. @default it never ends */
  readonly until?: Date;
  /** Reports each run to a monitor: `heartbeat(url)` of `longshore/alerts`, or a function. @default none */
  readonly ping?: Ping;
}

const kinds = {
  name: '',
  cron: '',
  everyMs: 1000,
  timezone: '',
  job: '',
  payload: '',
  overlap: '',
  missed: '',
  until: '',
  ping: 'function',
} satisfies OptionKinds<ScheduleDefinition<unknown>>;

/** Defines a schedule. Throws `CONFIG` for invalid options. Pass the schedule to `createApp({ schedules })`. */
export function defineSchedule<Input>(definition: ScheduleDefinition<Input>): Schedule {
  const { name, cron, everyMs, timezone = 'UTC', job, payload, ping = null } = definition;
  const until = definition.until?.getTime?.();
  const wrong = (expected: string) => config(`Schedule "${name}" expects ${expected}.`);
  checkName("A schedule's name", name);
  checkOptions(`schedule "${name}"`, definition, kinds);
  if ((cron === undefined) === (everyMs === undefined)) {
    throw wrong(`either cron or everyMs, got ${cron === undefined ? 'neither' : 'both'}`);
  }
  if (definition.until !== undefined && !isEnd(definition.until))
    throw wrong(`until to be a Date, got ${shown(definition.until)}`);
  const rest = {
    name,
    timing: timingOf({ cron, everyMs, timezone, until }),
    job: job as Job,
    payload,
    overlap: definition.overlap ?? 'allow',
    missed: definition.missed ?? 'one',
    ping,
  };
  if (everyMs !== undefined) {
    return { ...rest, everyMs, nextAfter: endingAt(intervalOf(everyMs), until) };
  }
  if (!fields.test(cron!)) {
    throw wrong(`a cron pattern like "0 2 * * *" or with seconds, got ${shown(cron)}`);
  }
  // The runtime would read an empty time zone as the zone of its host.
  if (!timezone?.trim?.()) {
    throw wrong(`an IANA time zone, got ${shown(timezone)}. Leave it out for UTC`);
  }
  // Loaded on demand: the parser and the runtime's time zones take five times as long to load as the rest of a function, and only
  // one of an app's functions asks for due times.
  const pattern = onDemand(async () => (await import('./cron.ts')).patternOf(name, cron!, timezone));
  return {
    ...rest,
    everyMs: null,
    nextAfter: endingAt(async (after) => (await pattern())(after), until),
  };
}

/** Five fields, six with seconds, or seven with a year at the end; or a name like `@daily`. */
const fields = /^\s*(@\w+|\S+(\s+\S+){4,6})\s*$/;
