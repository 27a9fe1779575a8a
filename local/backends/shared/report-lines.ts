/** The stored form of jobs in SQL backends. Reports are lines of JSON; the oldest are removed when there are too many. */

import type { AttemptReport } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { factsFrom } from '../../../core/kit/records/facts.ts';
import { mostAttempts } from '../../../core/kit/records/row.ts';

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

/**
 * SQL for `column` without its first line if it has more lines than are listed, to make room for another one. Valid in both dialects.
 *
 * @param newline SQL for a line break
 * @param position the SQL function that finds a text in another
 */
export const roomForReport = (column: string, newline: string, position: 'instr' | 'strpos'): string =>
  `CASE WHEN length(${column}) - length(replace(${column}, ${newline}, '')) > ${mostAttempts}
    THEN substr(${column}, ${position}(${column}, ${newline}) + 1) ELSE ${column} END`;

/** The last reports. */
export function reportsIn(lines: string | null): AttemptReport[] {
  return (lines ?? '')
    .split('\n')
    .slice(0, -1)
    .slice(-mostAttempts)
    .map((line) => JSON.parse(line) as AttemptReport);
}

type Facts = keyof ReturnType<typeof factsFrom>;

/** A record with unparsed JSON. */
export interface StoredRecord extends Omit<JobRecord, Facts | 'progress' | 'output'> {
  readonly progress: string | null;
  readonly reports: string | null;
  /** The facts of the message. */
  readonly facts?: string | null;
}

export function recordOf({ reports, progress, reason, error, facts, ...rest }: StoredRecord): JobRecord {
  const attempts = reportsIn(reports);
  const output = rest.status === 'completed' ? attempts.at(-1)?.output : null;
  return {
    ...rest,
    ...factsFrom(facts, attempts),
    progress: progress == null ? null : JSON.parse(progress),
    output: output == null ? null : JSON.parse(output),
    reason,
    error,
  };
}
