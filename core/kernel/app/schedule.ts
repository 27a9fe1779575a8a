/** Schedules as an app defines them; scheduler/ enqueues their jobs. */

import { checkName, checkOptions, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import { onDemand } from '../../base/lazy.ts';
import type { Job } from './job.ts';

export type PingKind = 'start' | 'success' | 'fail';

/**
 * Called when an attempt of the schedule's job begins, and when the job is done or has failed for good. It is given up after 5 s, when
 * `signal` aborts. Its failure is an event, and nothing to the job.
 */
export type Ping = (kind: PingKind, signal: AbortSignal) => unknown;

export interface Schedule {
  readonly name: string;
  /** For people: the cron text with its time zone, or `every 5000 ms`. */
  readonly timing: string;
  /** `null` = by cron. */
  readonly everyMs: number | null;
  readonly job: Job;
  readonly payload: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  readonly ping: Ping | null;
  /**
   * The first due moment after `after` (epoch ms), or `null` when there is none any more. Rejects with `CONFIG` when the pattern is
   * none, never comes due, or its time zone is unknown.
   */
  nextAfter(after: number): Promise<number | null>;
}

export interface ScheduleDefinition<Input> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`; also the schedule's key in the store. */
  readonly name: string;
  /** Five fields, or six with seconds first. Either this or `everyMs`. */
  readonly cron?: string;
  /** A fixed interval, counted from the epoch so that all hosts agree. At least 1000. */
  readonly everyMs?: number;
  /** IANA name; docs/lifecycle.md says what happens when its clock changes. @default 'UTC' */
  readonly timezone?: string;
  readonly job: Job<Input>;
  readonly payload: NoInfer<Input>;
  /** `skip`: not enqueued while the job of the last due moment is unfinished. @default 'allow' */
  readonly overlap?: 'skip' | 'allow';
  /** Moments that passed while nothing ticked: run none, the last one or all of them. @default 'one' */
  readonly missed?: 'skip' | 'one' | 'all';
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
  ping: 'function',
} satisfies OptionKinds<ScheduleDefinition<unknown>>;

export function defineSchedule<Input>(definition: ScheduleDefinition<Input>): Schedule {
  const { name, cron, everyMs, timezone = 'UTC', job, payload, ping = null } = definition;
  const wrong = (expected: string) => config(`Schedule "${name}" expects ${expected}.`);
  checkName("A schedule's name", name);
  checkOptions(`schedule "${name}"`, definition, kinds);
  if ((cron === undefined) === (everyMs === undefined)) {
    throw wrong(`either cron or everyMs, got ${cron === undefined ? 'neither' : 'both'}`);
  }
  const rest = {
    name,
    job: job as Job,
    payload,
    overlap: definition.overlap ?? 'allow',
    missed: definition.missed ?? 'one',
    ping,
  };
  if (everyMs !== undefined) {
    const nextAfter = async (after: number) => (Math.floor(after / everyMs) + 1) * everyMs;
    return { ...rest, timing: `every ${everyMs} ms`, everyMs, nextAfter };
  }
  if (!fields.test(cron!)) {
    throw wrong(`a cron pattern like "0 2 * * *" or with seconds, got ${shown(cron)}`);
  }
  // The runtime would take an empty one for the zone of its host.
  if (!timezone?.trim?.()) {
    throw wrong(`an IANA time zone, got ${shown(timezone)}. Leave it out for UTC`);
  }
  // Later, because the parser and the time zones of the runtime take five times as long to load as all else that a function
  // loads at its start, and of an app's functions only one asks for a moment.
  const pattern = onDemand(async () => (await import('./cron.ts')).patternOf(name, cron!, timezone));
  return {
    ...rest,
    timing: `${cron} (${timezone})`,
    everyMs: null,
    nextAfter: async (after) => (await pattern())(after),
  };
}

/** Five, six, or seven with a year at the end; or a name like `@daily`. */
const fields = /^\s*(@\w+|\S+(\s+\S+){4,6})\s*$/;
