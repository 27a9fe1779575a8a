/** Enqueues a job for each moment of a schedule since the last tick, once across all hosts. */

import type { App } from '../app/app.ts';
import type { Schedule } from '../app/schedule.ts';
import { config } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import type { Client } from '../enqueue/client.ts';
import { type Cursor, cursorKey, keptCursor } from './cursor.ts';

/** One tick may be this late before `missed: 'skip'` leaves its moments out. */
const graceMs = 90_000;
/** One tick enqueues at most so many moments of one schedule; the next tick goes on. */
const maxPerTick = 1000;
/** A host that dies in a tick keeps the others out for so long. */
const holdMs = 15_000;

/** Since when the lock of another host has kept this one out of a schedule. */
const keptOut = new WeakMap<Schedule, number>();

/** What `tick()` does. */
export async function enqueueSchedules(app: App, client: Client, at?: number): Promise<string[]> {
  const ids: string[] = [];
  for (const schedule of app.schedules) {
    try {
      const now = at ?? (await client.backend.now?.()) ?? app.clock.now();
      ids.push(...(await tickOne(app, client, schedule, now)));
    } catch (cause) {
      const error = backendError(`enqueueing schedule "${schedule.name}"`, cause);
      app.events.emit({ type: 'schedule.failed', schedule: schedule.name, error });
    }
  }
  return ids;
}

async function tickOne(app: App, client: Client, schedule: Schedule, now: number): Promise<string[]> {
  const { keys, records } = client.stores;
  if (schedule.overlap === 'skip' && records.keepsNothing) {
    throw config(
      `Schedule "${schedule.name}" expects records for its overlap: 'skip', and backend "${client.backend.name}" keeps none. Give it a store.`,
    );
  }
  const key = cursorKey(schedule.name);
  const owner = app.newId();
  let heldUntil = app.clock.now() + holdMs;
  const claim = await keys.claim(key, owner, heldUntil);
  if (claim.state !== 'claimed') {
    if (!keptOut.has(schedule)) keptOut.set(schedule, now);
    return []; // another host is at it, or has died
  }
  // A schedule that was never seen before starts now: deploying a yearly report must not run last year's.
  let cursor: Cursor = claim.value === null ? { at: now, lastId: null } : JSON.parse(claim.value);
  const ids: string[] = [];
  let kept = false;
  try {
    for (const dueAt of await momentsSince(schedule, cursor.at, now)) {
      const at = app.clock.now();
      if (at > heldUntil - holdMs / 2) {
        heldUntil = at + holdMs;
        if (!(await keys.extend(key, owner, heldUntil))) break; // another host goes on from the last cursor
      }
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
    // Never back: a host whose clock is behind must not enqueue a moment again.
    if (ids.length < maxPerTick) cursor = { at: Math.max(cursor.at, now), lastId: cursor.lastId };
    keptOut.delete(schedule);
  } finally {
    const keep = keptCursor(JSON.stringify(cursor), app.clock.now());
    kept = await keys.release(key, owner, keep);
  }
  if (kept && app.events.active)
    app.events.emit({ type: 'schedule.checked', schedule: schedule.name, at: cursor.at });
  return ids;
}

/**
 * A time shortly before the last moment. For `missed: 'one'` only the last moment counts, and walking to it through a
 * month of seconds takes croner more than a minute.
 */
async function lastStretch(schedule: Schedule, since: number, now: number): Promise<number> {
  for (let backMs = 60_000; now - backMs > since; backMs *= 2) {
    const first = await schedule.nextAfter(now - backMs);
    if (first !== null && first <= now) return now - backMs;
  }
  return since;
}

async function momentsSince(schedule: Schedule, since: number, now: number): Promise<number[]> {
  const moments: number[] = [];
  // What fell due while a lock kept this host out is not missed: it would have ticked.
  const until = Math.max(keptOut.get(schedule) ?? now, now - graceMs);
  const from =
    schedule.missed === 'all'
      ? since
      : schedule.missed === 'skip'
        ? Math.max(since, now - graceMs)
        : await lastStretch(schedule, since, until);
  let at = await schedule.nextAfter(from);
  while (at !== null && at <= now) {
    if (schedule.missed === 'one' && at <= until) moments.length = 0;
    moments.push(at);
    if (moments.length === maxPerTick) break;
    at = await schedule.nextAfter(at);
  }
  return moments;
}
