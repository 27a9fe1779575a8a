/** Enqueues a job for each due time of a schedule since the last tick, once across all hosts. */

import { config } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { scheduleKey } from '../../envelope/schedule-of.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { homeOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { believed } from '../../kit/records/believe.ts';
import { claimPastReaders } from '../../kit/records/peek.ts';
import { type Cursor, cursorKey, stored } from './cursor.ts';
import { announceSkipped, type Skipped, skippedIn, withSkipped } from './skip.ts';

/** How late a tick may be before `missed: 'skip'` skips its times. */
const graceMs = 90_000;
/** The most jobs of one schedule that one tick enqueues; the next tick continues. */
const maxPerTick = 1000;
/** If a host dies in a tick, the others wait for this time. */
const holdMs = 15_000;

/** Since when another host's lock has blocked this one from a schedule. */
const keptOut = new WeakMap<Schedule, number>();

/** Implements `tick()`. */
export async function enqueueSchedules(app: App, client: Client, at?: number): Promise<string[]> {
  const ids: string[] = [];
  for (const schedule of app.schedules) {
    const home = homeOf(client, schedule.job);
    if (!home) continue; // another process ticks it
    try {
      // If there is no answer, this host's clock is used: another backend may take the job, if the keys are not kept in this one.
      const now = at ?? (await home.backend.now?.().catch(() => null)) ?? app.clock.now();
      const ticked = await tickOne(app, home, schedule, now);
      if (ticked) ids.push(...ticked.ids);
    } catch (cause) {
      const error = backendError(`enqueueing schedule "${schedule.name}"`, cause);
      app.events.emit({ type: 'schedule.failed', schedule: schedule.name, error });
    }
  }
  return ids;
}

interface Ticked {
  readonly ids: string[];
  /** All times up to this one were enqueued or skipped. */
  readonly at: number;
  /** It has reached its limit of runs. */
  readonly isOver: boolean;
}

/** A schedule created at run time. */
interface MadeAtRunTime {
  /** Its times begin after that, even if an earlier schedule of the same name has a cursor. */
  readonly since?: number;
  /** It ends after this many runs. */
  readonly limit?: number;
  readonly context?: JobContext;
}

/** `null` = another host is ticking it. */
export async function tickOne(
  app: App,
  client: Client,
  schedule: Schedule,
  now: number,
  { since, limit, context }: MadeAtRunTime = {},
): Promise<Ticked | null> {
  const { keys, records } = client.stores;
  if (schedule.overlap === 'skip' && records.recordsDisabled) {
    throw config(
      `Schedule "${schedule.name}" expects records for its overlap: 'skip', and backend "${client.backend.name}" keeps none. Give it a store.`,
    );
  }
  const key = cursorKey(schedule.name);
  const owner = app.newId();
  const claimedAt = app.clock.now();
  let heldUntil = claimedAt + holdMs;
  const claim = await claimPastReaders(keys, app.clock, key, owner, holdMs);
  if (claim.state !== 'claimed') {
    if (!keptOut.has(schedule)) keptOut.set(schedule, now);
    return null; // another host is ticking it, or died doing so
  }
  // A new schedule starts now: deploying a yearly report must not run last year's.
  let cursor: Cursor = claim.value === null ? { at: since ?? now, lastId: null } : JSON.parse(claim.value);
  if (since !== undefined && since >= cursor.at) {
    const { pausedAt: _, runs: __, ...others } = cursor;
    cursor = { ...others, at: since };
  }
  const ids: string[] = [];
  const isOver = () => limit !== undefined && (cursor.runs ?? 0) >= limit;
  let kept = false;
  let skipped: Skipped[] = [];
  function skip(one: Skipped): void {
    skipped = withSkipped(skipped, one);
    cursor = { ...cursor, at: one.lastAt, skipped: withSkipped(cursor.skipped ?? [], one) };
  }
  try {
    const isPaused = cursor.pausedAt !== undefined;
    if (!isPaused) await announceLate(app, schedule, cursor.at, now);
    const { moments, without } = isPaused
      ? { moments: [], without: await skippedIn(schedule, cursor.at, now, 'paused') }
      : await momentsSince(schedule, cursor.at, now);
    if (without) skip(without);
    for (const dueAt of moments) {
      if (isOver()) break;
      const at = app.clock.now();
      if (at > heldUntil - holdMs / 2) {
        heldUntil = at + holdMs;
        if (!(await keys.extend(key, owner, heldUntil))) break; // another host continues from the last cursor
      }
      const busy =
        schedule.overlap === 'skip' && cursor.lastId !== null
          ? believed(app, await records.get(cursor.lastId))
          : null;
      if (busy && busy.finishedAt === null) {
        skip({ at: dueAt, lastAt: dueAt, count: 1, reason: 'overlap', id: busy.id });
        continue;
      }
      const { id } = await client.enqueue(schedule.job, schedule.payload, {
        idempotencyKey: scheduleKey(schedule.name, dueAt),
        name: schedule.name,
        ...(context && { context }),
      });
      cursor = { ...cursor, at: dueAt, lastId: id, ...(limit && { runs: (cursor.runs ?? 0) + 1 }) };
      ids.push(id);
      app.events.emit({ type: 'schedule.enqueued', schedule: schedule.name, dueAt, id });
    }
    // Never backwards: a host whose clock is behind must not enqueue a time again.
    if (moments.length < maxPerTick) cursor = { ...cursor, at: Math.max(cursor.at, now) };
    keptOut.delete(schedule);
  } finally {
    for (const one of skipped) announceSkipped(app, schedule, one);
    kept = await keys.release(key, owner, stored(cursor, app.clock.now()));
  }
  if (kept && app.events.active)
    app.events.emit({ type: 'schedule.checked', schedule: schedule.name, at: cursor.at });
  return { ids, at: cursor.at, isOver: isOver() };
}

/**
 * A time shortly before the last due time. For `missed: 'one'` only the last one counts, and iterating over a month of seconds takes croner more
 * than a minute.
 */
async function lastStretch(schedule: Schedule, since: number, now: number): Promise<number> {
  for (let backMs = 60_000; now - backMs > since; backMs *= 2) {
    const first = await schedule.nextAfter(now - backMs);
    if (first !== null && first <= now) return now - backMs;
  }
  return since;
}

/** Reports a late tick. A tick that comes every minute computes nothing here. */
async function announceLate({ events }: App, schedule: Schedule, since: number, now: number): Promise<void> {
  if (now - since <= graceMs) return;
  const dueAt = await schedule.nextAfter(since);
  if (dueAt === null || now - dueAt <= graceMs) return;
  events.emit({ type: 'schedule.late', schedule: schedule.name, dueAt, lateMs: now - dueAt });
}

/** The times to enqueue, and the missed times before them that are skipped. */
async function momentsSince(
  schedule: Schedule,
  since: number,
  now: number,
): Promise<{ readonly moments: number[]; readonly without: Skipped | null }> {
  const moments: number[] = [];
  // A time that became due while a lock blocked this host is not missed: the host would have ticked.
  const until = Math.max(keptOut.get(schedule) ?? now, now - graceMs);
  const from =
    schedule.missed === 'all'
      ? since
      : schedule.missed === 'skip'
        ? Math.max(since, now - graceMs)
        : await lastStretch(schedule, since, until);
  let dropped = from;
  let at = await schedule.nextAfter(from);
  while (at !== null && at <= now) {
    if (schedule.missed === 'one' && at <= until) dropped = moments.pop() ?? dropped;
    moments.push(at);
    if (moments.length === maxPerTick) break;
    at = await schedule.nextAfter(at);
  }
  return { moments, without: dropped > since ? await skippedIn(schedule, since, dropped, 'missed') : null };
}
