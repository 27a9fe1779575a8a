/** What SQL backends keep of a job. Reports are lines of JSON, appended and never read back to be changed. */

import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';

/** A job that has not ended waits or is leased. The numbers are stored. */
export const JobState = {
  waiting: 0,
  leased: 1,
  completed: 2,
  failed: 3,
  cancelled: 4,
  expired: 5,
} as const;

export function reportLine(report: AttemptReport | undefined): string {
  return report ? `${JSON.stringify(report)}\n` : '';
}

export function reportsIn(lines: string | null): AttemptReport[] {
  return (lines ?? '')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AttemptReport);
}

/** A record whose JSON has not been parsed. */
export interface StoredRecord extends Omit<JobRecord, 'attempts' | 'progress' | 'output'> {
  readonly progress: string | null;
  readonly reports: string | null;
}

export function recordOf({ reports, progress, reason, error, ...facts }: StoredRecord): JobRecord {
  const attempts = reportsIn(reports);
  const output = facts.status === 'completed' ? attempts.at(-1)?.output : null;
  return {
    ...facts,
    attempts,
    progress: progress == null ? null : JSON.parse(progress),
    output: output == null ? null : JSON.parse(output),
    reason,
    error,
  };
}
