/** From rows to what callers see. */

import type { DeadLetter, PeekedMessage } from '../../../core/contract/admin.ts';
import type { AbandonReason, JobStatus } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { reportsIn } from '../shared/report-lines.ts';
import { JobState } from './schema.ts';

export interface JobRow {
  readonly seq: number;
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly tenant_id: string | null;
  readonly state: number;
  readonly priority: number;
  readonly created_at: number;
  readonly ready_at: number;
  readonly attempts: number;
  readonly finished_at: number | null;
  readonly reason: AbandonReason | null;
  readonly error: string | null;
  readonly progress: string | null;
  readonly reports: string | null;
  readonly body: string;
}

/** Its parameter is a `reportLine`. */
export const appendReport = "reports = coalesce(reports, '') || ?";

/** Of the view `job_states`. */
export const recordColumns =
  'seq, id, queue, job, tenant_id, state, priority, created_at, ready_at, attempts, finished_at, reason, error, progress, reports';

const finished: Readonly<Record<number, JobStatus>> = {
  [JobState.completed]: 'completed',
  [JobState.failed]: 'failed',
  [JobState.cancelled]: 'cancelled',
  [JobState.expired]: 'expired',
};

export function recordOf(row: JobRow): JobRecord {
  const attempts = reportsIn(row.reports);
  const output = row.state === JobState.completed ? attempts.at(-1)?.output : null;
  return {
    id: row.id,
    queue: row.queue,
    job: row.job,
    tenantId: row.tenant_id,
    status: statusOf(row),
    priority: row.priority,
    createdAt: row.created_at,
    runAt: row.ready_at,
    finishedAt: row.finished_at,
    attempts,
    progress: row.progress === null ? null : JSON.parse(row.progress),
    output: output == null ? null : JSON.parse(output),
    reason: row.reason,
    error: row.error,
  };
}

function statusOf({ state, attempts }: JobRow): JobStatus {
  if (state === JobState.leased) return 'processing';
  return finished[state] ?? (attempts > 0 ? 'retrying' : 'pending');
}

/** The rows that have a status, as a condition. */
export const statusWhere: Readonly<Record<JobStatus, string>> = {
  pending: `state = ${JobState.waiting} AND attempts = 0`,
  retrying: `state = ${JobState.waiting} AND attempts > 0`,
  processing: `state = ${JobState.leased}`,
  completed: `state = ${JobState.completed}`,
  failed: `state = ${JobState.failed}`,
  cancelled: `state = ${JobState.cancelled}`,
  expired: `state = ${JobState.expired}`,
};

export function deadLetterOf(row: JobRow): DeadLetter {
  const { id, queue, job, attempts, body } = row;
  return {
    id,
    queue,
    job,
    attempt: attempts,
    body,
    reason: row.reason!,
    error: row.error ?? '',
    diedAt: row.finished_at!,
  };
}

export function peekedOf(row: JobRow): PeekedMessage {
  const { id, queue, job, priority, attempts } = row;
  return { id, queue, job, priority, attempt: attempts, readyAt: row.ready_at };
}
