/** Where a schedule stands, kept in the key store between ticks. */

import type { AlertHost } from '../app/alerts.ts';
import { peek } from '../kit/records/peek.ts';
import type { Skipped } from './skipped.ts';

export interface Cursor {
  /** Until then all that fell due was enqueued, or left out. */
  readonly at: number;
  readonly lastId: string | null;
  /** The last moments without a job, oldest first. */
  readonly skipped?: readonly Skipped[];
}

export const cursorKey = (schedule: string): string => `schedule:${schedule}`;
const keepCursorMs = 400 * 86_400_000; // longer than a year: a yearly schedule must find its cursor again

export const stored = (cursor: Cursor, now: number) => ({
  value: JSON.stringify(cursor),
  keepUntil: now + keepCursorMs,
});

/** `never`: no tick has seen it. `ticking`: a tick is at it, or has died in it a moment ago. */
export async function readCursor(
  { app, stores }: Pick<AlertHost, 'app' | 'stores'>,
  schedule: string,
): Promise<Cursor | 'never' | 'ticking'> {
  const text = await peek(stores.keys, app.clock, cursorKey(schedule), app.newId(), keepCursorMs);
  if (text === null) return 'never';
  return text === 'busy' ? 'ticking' : (JSON.parse(text) as Cursor);
}
