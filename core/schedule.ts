/** Schedules: a tick finds the due moments since the last one and enqueues them, once across all hosts. */

import { Cron } from 'croner';
import type { App } from './app.ts';
import type { Client } from './client.ts';
import { config, LongshoreError, shown } from './errors.ts';
import { checkInteger, isName, type Job, namePattern } from './job.ts';

export interface Schedule {
  readonly name: string;
  /** For people: the cron text with its time zone, or `every 5000 ms`. */
  readonly timing: string;
  readonly job: Job;
  readonly payload: unknown;
  readonly overlap: 'skip' | 'allow';
  readonly missed: 'skip' | 'one' | 'all';
  /** The first due moment after `after` (epoch ms), or `null` when there is none any more. */
  nextAfter(after: number): number | null;
}

export interface ScheduleDefinition<Input> {
  /** 1 to 128 of `A-Z a-z 0-9 . _ -`; also names the schedule's place in the store. */
  readonly name: string;
  /** Five fields, or six with seconds first. Either this or `everyMs`. */
  readonly cron?: string;
  /** A fixed interval, counted from the epoch so that all hosts agree. At least 1000. */
  readonly everyMs?: number;
  /** IANA name. Daylight saving is the time zone's, as croner defines it. @default 'UTC' */
  readonly timezone?: string;
  readonly job: Job<Input>;
  readonly payload: NoInfer<Input>;
  /** `skip`: not enqueued while the job of the last due moment is unfinished. @default 'allow' */
  readonly overlap?: 'skip' | 'allow';
  /** After a pause of the tick: run none, the last or all of the moments that passed. @default 'one' */
  readonly missed?: 'skip' | 'one' | 'all';
}

export function defineSchedule<Input>(definition: ScheduleDefinition<Input>): Schedule {
  const { name, cron, everyMs, timezone = 'UTC', job, payload } = definition;
  if (!isName(name)) {
    throw config(`A schedule's name must match ${namePattern}, got ${shown(name)}.`);
  }
  if ((cron === undefined) === (everyMs === undefined)) {
    throw config(
      `Schedule "${name}" expects either cron or everyMs, got ${cron === undefined ? 'neither' : 'both'}.`,
    );
  }
  const rest = {
    name,
    job: job as Job,
    payload,
    overlap: definition.overlap ?? 'allow',
    missed: definition.missed ?? 'one',
  };
  if (everyMs !== undefined) {
    checkInteger(`everyMs of schedule "${name}"`, everyMs, 1000);
    const nextAfter = (after: number) => (Math.floor(after / everyMs) + 1) * everyMs;
    return { ...rest, timing: `every ${everyMs} ms`, nextAfter };
  }
  const pattern = parse(name, cron!, timezone);
  return {
    ...rest,
    timing: `${cron} (${timezone})`,
    nextAfter: (after) => pattern.nextRun(new Date(after))?.getTime() ?? null,
  };
}

function parse(name: string, cron: string, timezone: string): Cron {
  try {
    const pattern = new Cron(cron, { timezone, paused: true });
    // An unknown time zone only shows when it is used, and "0 0 30 2 *" is a pattern without a day.
    if (pattern.nextRun() === null) throw new Error('the pattern never comes due');
    return pattern;
  } catch (cause) {
    throw new LongshoreError(
      'CONFIG',
      `Schedule "${name}" expects a cron pattern like "0 2 * * *" and an IANA time zone, got ${shown(cron)} in ${shown(timezone)}: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Where a schedule stands, kept in the key store between ticks. */
interface Cursor {
  readonly at: number;
  readonly lastId: string | null;
}

/** One tick may be this late before `missed: 'skip'` leaves its moments out. */
const graceMs = 90_000;
/** One tick enqueues at most so many moments of one schedule; the next tick goes on. */
const maxPerTick = 1000;
const holdMs = 60_000;
const keepCursorMs = 400 * 86_400_000; // longer than a year: a yearly schedule must find its cursor again

/**
 * Enqueues every due moment since the last tick; returns the ids. A failing schedule emits `schedule.failed` and
 * keeps its cursor, so the next tick tries again; the others go on. The moment itself is the idempotency key
 * (`schedule:<name>@<ISO time>`), so a tick that dies half-way and is repeated has one effect.
 */
export async function tick(app: App, client: Client, now: number = app.clock.now()): Promise<string[]> {
  const ids: string[] = [];
  for (const schedule of app.schedules) {
    try {
      ids.push(...(await tickOne(app, client, schedule, now)));
    } catch (cause) {
      const error =
        cause instanceof LongshoreError
          ? cause
          : new LongshoreError(
              'BACKEND',
              `Schedule "${schedule.name}" could not be enqueued: ${String(cause)}`,
              { cause },
            );
      app.events.emit({ type: 'schedule.failed', schedule: schedule.name, error });
    }
  }
  return ids;
}

async function tickOne(app: App, client: Client, schedule: Schedule, now: number): Promise<string[]> {
  const { keys, records } = client.stores;
  const key = `schedule:${schedule.name}`;
  const owner = app.newId();
  const claim = await keys.claim(key, owner, now + holdMs);
  if (claim.state !== 'claimed') return []; // another host is at it
  // A schedule that was never seen before starts now: deploying a yearly report must not run last year's.
  let cursor: Cursor = claim.value === null ? { at: now, lastId: null } : JSON.parse(claim.value);
  const ids: string[] = [];
  try {
    for (const dueAt of dueMoments(schedule, cursor.at, now)) {
      const busy =
        schedule.overlap === 'skip' && cursor.lastId !== null && (await records.get(cursor.lastId));
      if (busy && busy.finishedAt === null) {
        cursor = { at: dueAt, lastId: cursor.lastId };
        continue;
      }
      const { id } = await client.enqueue(schedule.job, schedule.payload, {
        idempotencyKey: `schedule:${schedule.name}@${new Date(dueAt).toISOString()}`,
        name: schedule.name,
      });
      cursor = { at: dueAt, lastId: id };
      ids.push(id);
      app.events.emit({ type: 'schedule.enqueued', schedule: schedule.name, dueAt, id });
    }
    // Never back: a host whose clock is behind must not make due again what another one has enqueued.
    if (ids.length < maxPerTick) cursor = { at: Math.max(cursor.at, now), lastId: cursor.lastId };
  } finally {
    const keep = { value: JSON.stringify(cursor), keepUntil: now + keepCursorMs };
    await keys.release(key, owner, keep);
  }
  return ids;
}

/**
 * A moment after which something is due, but not much: for `missed: 'one'` only the last moment counts, and walking
 * to it through a month of seconds takes croner more than a minute.
 */
function lastStretch(schedule: Schedule, since: number, now: number): number {
  for (let backMs = 60_000; now - backMs > since; backMs *= 2) {
    const first = schedule.nextAfter(now - backMs);
    if (first !== null && first <= now) return now - backMs;
  }
  return since;
}

function dueMoments(schedule: Schedule, since: number, now: number): number[] {
  const due: number[] = [];
  const from =
    schedule.missed === 'all'
      ? since
      : schedule.missed === 'skip'
        ? Math.max(since, now - graceMs)
        : lastStretch(schedule, since, now);
  let at = schedule.nextAfter(from);
  while (at !== null && at <= now) {
    if (schedule.missed === 'one') due.length = 0;
    due.push(at);
    if (due.length === maxPerTick) break;
    at = schedule.nextAfter(at);
  }
  return due;
}
