/** The text of a stored schedule. It is signed with the schedule's name, because a tick signs jobs that are made from it. */

import { config, LongshoreError, shown } from '../../../base/errors.ts';
import { toError } from '../../../base/failure.ts';
import { withoutSeparators } from '../../../base/json.ts';
import type { ScheduleRow, StoredSchedule } from '../../../contract/derived/schedules.ts';
import type { JobContext } from '../../../envelope/envelope.ts';
import { seal, unseal } from '../../../envelope/seal.ts';
import type { App } from '../../../kernel/app/app.ts';
import { patternOf } from '../../../kernel/app/cron.ts';
import type { Job } from '../../../kernel/app/job.ts';
import type { Schedule } from '../../../kernel/app/schedule.ts';
import type { StoredScheduleInfo } from '../../../kernel/app/stored-schedule.ts';
import { endingAt, intervalOf, timingOf } from '../../../kernel/app/timing.ts';

/** Members without a value are absent. */
export interface Definition {
  readonly cron?: string;
  readonly everyMs?: number;
  readonly timezone?: string;
  readonly job: string;
  readonly payload?: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  /** Epoch ms. */
  readonly until?: number;
  readonly limit?: number;
  readonly context?: JobContext;
  readonly createdAt: number;
  readonly changedAt: number;
  /** Its due times begin after that. */
  readonly since: number;
  readonly pausedAt?: number;
  readonly failure?: StoredScheduleInfo['failure'];
}

/** The longest definition in bytes of UTF-8, far below the limit of any store. */
const mostBytes = 65_536;

type Signing = Pick<App, 'keyRing' | 'clock'>;

const subjectOf = (name: string): string => `longshore schedule ${name} `;

export function rowOf(
  app: Signing,
  name: string,
  definition: Definition,
  nextAt: number | null,
): ScheduleRow {
  const bytes = Buffer.byteLength(withoutSeparators(JSON.stringify(definition)));
  if (bytes <= mostBytes) return { name, nextAt, text: sealed(app, name, definition) };
  throw new LongshoreError(
    'LIMIT',
    `Expected schedule "${name}" to have at most ${mostBytes} bytes with its payload, got ${bytes}. Send an id instead of the data.`,
  );
}

export const sealed = (app: Signing, name: string, definition: Definition): string =>
  seal(app.keyRing(), subjectOf(name), JSON.stringify(definition));

/** Throws `SIGNATURE` or `UNKNOWN_KEY` for a text without a valid signature, and `CORRUPT` for one that cannot be read. */
export function definitionOf(app: Signing, { name, text }: Pick<ScheduleRow, 'name' | 'text'>): Definition {
  const ring = app.keyRing();
  let json: string;
  try {
    json = unseal(ring, subjectOf(name), text, app.clock.now());
  } catch (cause) {
    const code = cause instanceof LongshoreError ? cause.code : 'SIGNATURE';
    const why =
      code === 'UNKNOWN_KEY'
        ? 'It was signed with a key that the key ring lacks. Add the key, upsert the schedule again, or remove it.'
        : 'None of your keys has signed it. Upsert it again, open acceptUnsignedUntil if an earlier release wrote it, or remove it.';
    throw new LongshoreError(
      code,
      `The stored schedule "${name}" does not verify, so nothing is enqueued. ${why}`,
      { cause },
    );
  }
  try {
    return JSON.parse(json) as Definition;
  } catch (cause) {
    throw new LongshoreError(
      'CORRUPT',
      `The stored schedule "${name}" cannot be read. Something else has written to it: remove it, and upsert it again.`,
      { cause },
    );
  }
}

export const hasSameTiming = (a: Partial<Definition>, b: Partial<Definition>): boolean =>
  a.cron === b.cron && a.everyMs === b.everyMs && a.timezone === b.timezone;

/**
 * The same object as from `defineSchedule`, which is not called, because a function would then load it for nothing. Throws `CONFIG` for an
 * invalid definition.
 */
export function scheduleOf(name: string, definition: Partial<Omit<Definition, 'job'>>, job: Job): Schedule {
  const { cron, everyMs, timezone = 'UTC', payload, overlap = 'allow', missed = 'one', until } = definition;
  const wrong = (expected: string) => config(`Schedule "${name}" expects ${expected}.`);
  if ((cron === undefined) === (everyMs === undefined))
    throw wrong(`either cron or everyMs, got ${cron === undefined ? 'neither' : 'both'}`);
  // The runtime would read an empty text as the time zone of its host.
  if (!timezone.trim()) throw wrong(`an IANA time zone, got ${shown(timezone)}. Leave it out for UTC`);
  const rest = { name, timing: timingOf(definition), job, payload, overlap, missed, ping: null };
  if (everyMs !== undefined) {
    return { ...rest, everyMs, nextAfter: endingAt(intervalOf(everyMs), until) };
  }
  const pattern = patternOf(name, cron!, timezone);
  return { ...rest, everyMs: null, nextAfter: endingAt(async (after) => pattern(after), until) };
}

export function jobOf({ jobs }: Pick<App, 'jobs'>, name: string, job: string): Job {
  const found = jobs.get(job);
  if (found) return found;
  throw new LongshoreError(
    'UNKNOWN_JOB',
    `Schedule "${name}" expects job "${job}", which this app does not have. Remove the schedule, upsert it with another job, or bring the job back.`,
  );
}

export function infoOf(app: Signing, row: StoredSchedule): StoredScheduleInfo {
  const { name, nextAt } = row;
  let definition: Definition;
  try {
    definition = definitionOf(app, row);
  } catch (error) {
    return refusedInfo(row, toError(error), app.clock.now());
  }
  const { cron = null, everyMs = null, timezone = 'UTC', job, payload, overlap, missed } = definition;
  const { context = null, createdAt, changedAt, pausedAt = null, failure = null } = definition;
  const { until = null, limit = null } = definition;
  const timing = timingOf(definition);
  const facts = { createdAt, changedAt, nextAt, pausedAt, failure };
  return {
    ...{ name, timing, cron, everyMs, timezone, job, payload, overlap, missed, until, limit, context },
    ...facts,
  };
}

/** Shows nothing from the text, because its author is unknown. */
function refusedInfo({ name, nextAt }: StoredSchedule, error: Error, now: number): StoredScheduleInfo {
  // Without keys the text cannot be verified, which is not a fault of the row.
  if (!(error instanceof LongshoreError) || error.code === 'CONFIG') throw error;
  const timing = { timing: 'refused', cron: null, everyMs: null, timezone: 'UTC' };
  const jobs = {
    job: '',
    payload: null,
    overlap: 'allow',
    missed: 'one',
    until: null,
    limit: null,
    context: null,
  } as const;
  const times = { createdAt: now, changedAt: now, nextAt, pausedAt: null };
  const failure = { at: now, since: Math.min(nextAt ?? now, now), code: error.code, message: error.message };
  return { name, ...timing, ...jobs, ...times, failure };
}
