/** Rows of the narrow tables, and columns of the view `job_states` under the names that callers see. */

import type { JobStatus } from '../../../core/contract/outcome.ts';
import { JobState, roomForReport } from '../shared/report-lines.ts';
import { factOf } from './schema.ts';

/** A row of `ready` or `delayed`. */
export interface NarrowRow {
  readonly seq: number;
  readonly queue: string;
  readonly rank: number;
  readonly readyAt: number;
  readonly attempt: number;
  readonly interrupted: number;
}

/** SQL that appends a `reportLine`, its parameter. */
export const appendReport = `reports = coalesce(${roomForReport('reports', 'char(10)', 'instr')}, '') || ?`;

/** Replaces the body of a job. Parameters: body, facts as JSON, row number. */
export const replaceText = `
  UPDATE jobs SET body = ?1, facts = ?2, idempotency_key = ${factOf('idempotencyKey', '?2')}, schedule = ${factOf('schedule', '?2')}
  WHERE seq = ?3`;

/** Each status as a condition. */
export const statusWhere: Readonly<Record<JobStatus, string>> = {
  pending: `state = ${JobState.waiting} AND attempts = 0`,
  retrying: `state = ${JobState.waiting} AND attempts > 0`,
  processing: `state = ${JobState.leased}`,
  completed: `state = ${JobState.completed}`,
  failed: `state = ${JobState.failed}`,
  cancelled: `state = ${JobState.cancelled}`,
  expired: `state = ${JobState.expired}`,
};

const cases = Object.entries(statusWhere).map(([status, where]) => `WHEN ${where} THEN '${status}'`);

/** A `StoredRecord`. */
export const recordColumns = `id, queue, job, tenant_id AS tenantId, CASE ${cases.join(' ')} END AS status, priority,
  created_at AS createdAt, ready_at AS runAt, finished_at AS finishedAt, reason, error, progress, reports, facts`;

/** A `PeekedMessage`. */
export const peekColumns = 'id, queue, job, priority, attempts AS attempt, ready_at AS readyAt';

/** A `DeadLetter` without its body, from the table `jobs`. */
export const deadColumns =
  "id, queue, job, attempt, reason, coalesce(error, '') AS error, finished_at AS diedAt";
