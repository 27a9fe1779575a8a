/** The schedule that enqueued a job: its moment is the job's idempotency key, so that no moment has two jobs. */

import type { Envelope } from './envelope.ts';

const byMoment = /^schedule:([A-Za-z0-9._-]{1,128})@[-+\d]{4,7}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Its name; `null` = none did. */
export function scheduleOf({ idempotencyKey }: Pick<Envelope, 'idempotencyKey'>): string | null {
  if (!idempotencyKey?.startsWith('schedule:')) return null;
  return byMoment.exec(idempotencyKey)?.[1] ?? null;
}

/** The moment it was enqueued for, epoch ms; `null` = no schedule enqueued it. */
export function momentOf(envelope: Pick<Envelope, 'idempotencyKey'>): number | null {
  const name = scheduleOf(envelope);
  return name === null ? null : Date.parse(envelope.idempotencyKey!.slice(`schedule:${name}@`.length));
}

export const scheduleKey = (schedule: string, dueAt: number): string =>
  `schedule:${schedule}@${new Date(dueAt).toISOString()}`;
