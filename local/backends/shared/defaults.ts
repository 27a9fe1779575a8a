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
