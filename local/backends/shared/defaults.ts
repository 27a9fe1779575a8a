import { lostAttempt } from '../../../core/kit/records/row.ts';
import { defaultRetention } from '../../../core/kit/records/store.ts';

/** Defaults that all backends of this folder share. */
export const backendDefaults = {
  /** One priority level weighs as much as one hour of waiting. */
  ageingMs: 3_600_000,
  /** As much as the largest managed queue takes, so that a job that runs here also runs there. */
  maxBodyBytes: 1_048_576,
  retention: defaultRetention,
} as const;

/** `lostAttempt` as a format for the database, which fills in attempt, start and end where the placeholders are. */
export function lostFormat(...placeholders: readonly [attempt: string, start: string, end: string]): string {
  const report = JSON.stringify({ ...lostAttempt(-1), startedAt: -2, endedAt: -3 }).replaceAll('%', '%%');
  return placeholders.reduce((text, placeholder, i) => text.replace(`:${-1 - i}`, `:${placeholder}`), report);
}
