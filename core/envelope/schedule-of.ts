/** The schedule that enqueued a job: its moment is the job's idempotency key, so that no moment has two jobs. */

import type { Envelope } from './envelope.ts';

const byMoment = /^schedule:([A-Za-z0-9._-]{1,128})@[-+\d]{4,7}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Its name; `null` = none did. */
export function scheduleOf({ idempotencyKey }: Pick<Envelope, 'idempotencyKey'>): string | null {
  if (!idempotencyKey?.startsWith('schedule:')) return null;
  return byMoment.exec(idempotencyKey)?.[1] ?? null;
}
