/** Where a schedule stands, kept in the key store between ticks. */

import { LongshoreError, shown } from '../../base/errors.ts';
import type { AlertHost } from '../../kernel/app/alerts.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { peek } from '../../kit/records/peek.ts';
import type { Skipped } from './skip.ts';

export interface Cursor {
  /** Until then all that fell due was enqueued, or left out. */
  readonly at: number;
  readonly lastId: string | null;
  /** The last moments without a job, oldest first. */
  readonly skipped?: readonly Skipped[];
  /** Since then nothing is enqueued; absent = it is not paused. */
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

/** `never`: no tick has seen it. `ticking`: a tick is at it, or has died in it a moment ago. */
export async function readCursor(
  { app, stores }: Pick<AlertHost, 'app' | 'stores'>,
  schedule: string,
): Promise<Cursor | 'never' | 'ticking'> {
  const text = await peek(stores.keys, app.clock, cursorKey(schedule), app.newId(), keepCursorMs);
  if (text === null) return 'never';
  return text === 'busy' ? 'ticking' : (JSON.parse(text) as Cursor);
}
