import { lostAttempt } from '../../../core/kit/records/row.ts';
import { defaultRetention } from '../../../core/kit/records/store.ts';

/** Defaults of the local backends. */
export const backendDefaults = {
  /** One priority level weighs as much as one hour of waiting. */
  ageingMs: 3_600_000,
  /** The limit of the largest managed queue, so that a job that fits here fits there too. */
  maxBodyBytes: 1_048_576,
  retention: defaultRetention,
} as const;

/** `lostAttempt` as a format: the database fills in attempt, start and end at the placeholders. */
export function lostFormat(...placeholders: readonly [attempt: string, start: string, end: string]): string {
  const report = JSON.stringify({ ...lostAttempt(-1), startedAt: -2, endedAt: -3 }).replaceAll('%', '%%');
  return placeholders.reduce((text, placeholder, i) => text.replace(`:${-1 - i}`, `:${placeholder}`), report);
}
