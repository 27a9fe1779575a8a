/**
 * A paused schedule enqueues nothing on any host: its cursor is marked. Times that become due before it is resumed are skipped, whatever its
 * `missed` says, and so are times that were due when it was paused.
 */

import { type Clock, pause } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { homeOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { claimPastReaders } from '../../kit/records/peek.ts';
import { type Cursor, cursorKey, scheduleNamed, storedText } from './cursor.ts';
import { announceSkipped, type Skipped, skippedIn, withSkipped } from './skip.ts';

/** Short, so that a tick waits for it, as it does for a reader. */
const holdMs = 2_000;
/** A host that dies in a tick blocks the others for 15 s. */
const tries = 200;
const waitMs = 100;

/** Resolves with `false` if it was paused already. Waits for a running tick. Throws `OPTION` for a schedule that the app does not have. */
export async function pauseSchedule(client: Client, name: string): Promise<boolean> {
  return change(client, name, async (cursor, now) =>
    cursor.pausedAt === undefined ? { cursor: { ...cursor, pausedAt: now }, skipped: null } : null,
  );
}

/** Resolves with `false` if it was not paused. Waits and throws as `pauseSchedule` does. */
export async function resumeSchedule(client: Client, name: string): Promise<boolean> {
  const schedule = scheduleNamed(client.app, name);
  return change(client, name, async ({ pausedAt, ...cursor }, now) =>
    pausedAt === undefined ? null : withoutThePause(schedule, cursor, now),
  );
}

/** Also skips times that became due in the pause and that no tick handled. */
async function withoutThePause(schedule: Schedule, cursor: Cursor, now: number): Promise<Change> {
  const skipped = await skippedIn(schedule, cursor.at, now, 'paused');
  const all = skipped ? { skipped: withSkipped(cursor.skipped ?? [], skipped) } : {};
  return { cursor: { ...cursor, ...all, at: Math.max(cursor.at, now) }, skipped };
}

interface Change {
  readonly cursor: Cursor;
  readonly skipped: Skipped | null;
}

async function change(
  client: Client,
  name: string,
  decide: (cursor: Cursor, now: number) => Promise<Change | null>,
): Promise<boolean> {
  const { app } = client;
  const schedule = scheduleNamed(app, name);
  const home = homeOf(client, schedule.job);
  if (!home)
    throw new LongshoreError(
      'OPTION',
      `Schedule "${name}" belongs to another backend than "${client.name}". Name that backend.`,
    );
  const { backend, stores } = home;
  if (stores.records.recordsDisabled)
    throw new LongshoreError(
      'OPTION',
      `Schedule "${name}" cannot be paused, because backend "${backend.name}" has no store that all hosts share. Give it a store.`,
    );
  const key = cursorKey(name);
  const owner = app.newId();
  const { value } = await settled(app.clock, name, async () => {
    const claim = await claimPastReaders(stores.keys, app.clock, key, owner, holdMs);
    return claim.state === 'claimed' ? claim : null;
  });
  let changed: Change | null = null;
  let kept = false;
  try {
    const now = (await backend.now?.()) ?? app.clock.now();
    const cursor: Cursor = value === null ? { at: now, lastId: null } : JSON.parse(value);
    changed = await decide(cursor, now);
  } finally {
    const text = changed ? JSON.stringify(changed.cursor) : value;
    const left = text === null ? undefined : storedText(text, app.clock.now());
    kept = await stores.keys.release(key, owner, left);
  }
  if (changed && !kept) throw busy(name);
  if (changed?.skipped) announceSkipped(app, schedule, changed.skipped);
  return changed !== null;
}

/** Retries while a tick is running. */
async function settled<T>(clock: Clock, name: string, ask: () => Promise<T | null>): Promise<T> {
  for (let left = tries; left > 0; left--) {
    const found = await ask();
    if (found !== null) return found;
    await pause(clock, waitMs);
  }
  throw busy(name);
}

const busy = (name: string): LongshoreError =>
  new LongshoreError(
    'BACKEND',
    `Schedule "${name}" is busy: a tick has been holding it for long. Try again.`,
  );
