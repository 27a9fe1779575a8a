/** The progress of a schedule, kept in the key store between ticks. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { AlertHost } from '../../kernel/app/alerts.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { peek } from '../../kit/records/peek.ts';
import type { Skipped } from './skip.ts';

export interface Cursor {
  /** All times up to this one were enqueued or skipped. */
  readonly at: number;
  readonly lastId: string | null;
  /** Jobs that it has enqueued; absent = it has no limit. */
  readonly runs?: number;
  /** The last times without a job, oldest first. */
  readonly skipped?: readonly Skipped[];
  /** Paused since then; absent = not paused. */
  readonly pausedAt?: number;
}

export const cursorKey = (schedule: string): string => `schedule:${schedule}`;
const keepCursorMs = 400 * 86_400_000; // longer than a year: a yearly schedule must find its cursor again

export const stored = (cursor: Cursor, now: number) => storedText(JSON.stringify(cursor), now);

export const storedText = (value: string, now: number) => ({ value, keepUntil: now + keepCursorMs });

/** Throws `OPTION` for a schedule that the app does not have. */
export function scheduleNamed({ schedules }: Pick<App, 'schedules'>, name: string): Schedule {
  const schedule = schedules.find((one) => one.name === name);
  if (schedule) return schedule;
  throw new LongshoreError('OPTION', `Expected the name of a schedule, got ${shown(name)}.`);
}

/** `never`: no tick has handled it. `ticking`: a tick is handling it, or died just now. */
export async function readCursor(
  { app, stores }: Pick<AlertHost, 'app' | 'stores'>,
  schedule: string,
): Promise<Cursor | 'never' | 'ticking'> {
  const text = await peek(stores.keys, app.clock, cursorKey(schedule), app.newId(), keepCursorMs);
  if (text === null) return 'never';
  return text === 'busy' ? 'ticking' : (JSON.parse(text) as Cursor);
}
