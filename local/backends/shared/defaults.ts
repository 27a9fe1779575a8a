import type { AttemptReport } from '../../../core/contract/outcome.ts';

/** Defaults that all backends of this folder share. */
export const backendDefaults = {
  /** One priority level weighs as much as one hour of waiting. */
  ageingMs: 3_600_000,
  /** As much as the largest managed queue takes, so that a job that runs here also runs there. */
  maxBodyBytes: 1_048_576,
  retention: { completedMs: 7 * 86_400_000, deadMs: 90 * 86_400_000 },
} as const;

/** The attempt that is written for a worker that never reported. */
export function lostAttempt(attempt: number): Omit<AttemptReport, 'startedAt' | 'endedAt'> {
  const message = 'The worker vanished or its lease ended before it reported a result.';
  return { attempt, outcome: 'interrupted', error: { code: 'LEASE_LOST', message }, output: null };
}

/** The same as a format for the database, which fills in attempt, start and end where the placeholders are. */
export function lostFormat(...placeholders: readonly [attempt: string, start: string, end: string]): string {
  const report = JSON.stringify({ ...lostAttempt(-1), startedAt: -2, endedAt: -3 }).replaceAll('%', '%%');
  return placeholders.reduce((text, placeholder, i) => text.replace(`:${-1 - i}`, `:${placeholder}`), report);
}
