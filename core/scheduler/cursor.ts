/** Where a schedule stands, kept in the key store between ticks. */

import type { Client } from '../enqueue/client.ts';

export interface Cursor {
  /** Until then all that fell due was enqueued. */
  readonly at: number;
  readonly lastId: string | null;
}

const keepMs = 400 * 86_400_000; // longer than a year: a yearly schedule must find its cursor again
/** A reader that dies keeps ticks out for so long. */
const readMs = 2_000;

export const cursorKey = (schedule: string): string => `schedule:${schedule}`;

export const keptCursor = (value: string, now: number) => ({ value, keepUntil: now + keepMs });

/** `never`: no tick has seen it. `ticking`: a tick is at it, or has died in it a moment ago. */
export async function readCursor(
  { app, stores }: Client,
  schedule: string,
): Promise<Cursor | 'never' | 'ticking'> {
  const { keys } = stores;
  const key = cursorKey(schedule);
  const owner = app.newId();
  // The seam has no verb that only looks: a claim answers what the last tick has left, which goes back at once.
  const claim = await keys.claim(key, owner, app.clock.now() + readMs);
  if (claim.state !== 'claimed') return 'ticking';
  const { value } = claim;
  await keys.release(key, owner, value === null ? undefined : keptCursor(value, app.clock.now()));
  return value === null ? 'never' : (JSON.parse(value) as Cursor);
}
