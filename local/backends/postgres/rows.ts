/** Turns rows into the objects that callers see. */

import type { DeadLetter, PeekedMessage } from '../../../core/contract/admin.ts';
import type { AbandonReason, JobStatus } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { GroupState } from '../shared/groups.ts';
import { JobState, recordOf as storedRecordOf } from '../shared/report-lines.ts';
import type { Row } from './client.ts';
import { finishedAt } from './sql.ts';

/** In the order that `recordOf` reads, and then the position of the row in a list and among the read rows of its table. */
const recordColumns =
  'id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports, facts, seq, n';
const shared =
  'id, queue, job, tenant_id, priority, created_at, ready_at, attempt, progress, reports, facts, seq';

/**
 * Whether a job of `jobs` is leased: it has no narrow row and is in no line. `OFFSET 0` keeps the planner from reading all waiting jobs.
 */
export const leasedOf = (s: string, j: string): string => `
  (NOT EXISTS (SELECT FROM ${s}.ready r WHERE r.queue = ${j}.queue AND r.rank = ${j}.rank AND r.seq = ${j}.seq OFFSET 0)
    AND NOT EXISTS (SELECT FROM ${s}.delayed d WHERE d.queue = ${j}.queue AND d.ready_at = ${j}.ready_at AND d.seq = ${j}.seq OFFSET 0)
    AND NOT EXISTS (SELECT FROM ${s}.grouped g WHERE g.id = ${j}.id AND g.state = ${GroupState.inLine} OFFSET 0))`;

/** A table whose rows are records. */
export interface RecordTable {
  readonly name: string;
  /** The columns that `select` needs. */
  readonly columns: string;
  /** SQL that selects records from rows with these columns and `n`. */
  select(rows: string): string;
}

export type TableName = 'jobs' | 'dead' | 'history';

export function recordTables(s: string): Record<TableName, RecordTable> {
  const ended = (name: string): RecordTable => ({
    name: `${s}.${name}`,
    columns: `${shared}, idempotency_key, schedule, ended, ${finishedAt} AS finished_at, reason, error, keep_until`,
    select: (rows) => `SELECT ${recordColumns} FROM (SELECT *, ended::int AS state FROM ${rows} t) t`,
  });
  const living = `
    SELECT ${shared.replace('attempt', 'attempt + leased::int AS attempt')}, n, leased::int AS state, NULL::bigint AS finished_at,
      NULL::text AS reason, NULL::text AS error`;
  return {
    jobs: {
      name: `${s}.jobs`,
      columns: `${shared}, idempotency_key, schedule, rank`,
      select: (rows) =>
        `SELECT ${recordColumns} FROM (${living} FROM (SELECT t.*, ${leasedOf(s, 't')} AS leased FROM ${rows} t) t) t`,
    },
    dead: ended('dead'),
    history: ended('history'),
  };
}

/** Finds a record by its id. It is a function, because planning the query for all days takes longer than running it. */
export function recordFunction(s: string): string {
  const { jobs, dead, history } = recordTables(s);
  const one = ({ name, columns, select }: RecordTable, where = '') =>
    select(`(SELECT ${columns}, 0::bigint AS n FROM ${name} WHERE id = the_id ${where})`);
  return `
  CREATE OR REPLACE FUNCTION ${s}.record(the_id text, since bigint) RETURNS TABLE (
    id text, queue text, job text, tenant_id text, state int, priority smallint, created_at bigint, ready_at bigint, attempt int,
    finished_at bigint, reason text, error text, progress text, reports text, facts text, seq bigint, n bigint
  ) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
  #variable_conflict use_column
  BEGIN
    -- + 0 keeps the planner from reading the whole indexes by seq.
    RETURN QUERY SELECT * FROM (${one(jobs)} UNION ALL ${one(dead)} UNION ALL ${one(history, 'AND finished_at > since')}) records
    ORDER BY seq + 0 DESC LIMIT 1;
  END $$;`;
}

export function recordOf(row: Row): JobRecord {
  const [id, queue, job, tenantId, state, priority, createdAt, readyAt, attempt, finishedAt] = row;
  const [reason, error, progress, reports, facts] = row.slice(10) as (string | null)[];
  return storedRecordOf({
    id: id as string,
    queue: queue as string,
    job: job as string,
    tenantId: tenantId as string | null,
    status: statusOf(state as number, attempt as number),
    priority: priority as number,
    createdAt: Number(createdAt),
    runAt: Number(readyAt),
    finishedAt: finishedAt === null ? null : Number(finishedAt),
    reason: reason as AbandonReason | null,
    error: error!,
    progress: progress!,
    reports: reports!,
    facts: facts!,
  });
}

/** The position of a record in a list, and the number of rows of its table that were read to find it. */
export const positionOf = (row: Row) => ({ seq: Number(row[15]), looked: Number(row[16]) });

function statusOf(state: number, attempts: number): JobStatus {
  if (state === JobState.leased) return 'processing';
  if (state === JobState.waiting) return attempts > 0 ? 'retrying' : 'pending';
  return stateNames[state] as JobStatus;
}

const stateNames = Object.keys(JobState);

export const deadColumns = 'id, queue, job, reason, error, attempt, finished_at';

/** @param row begins with `deadColumns` */
export function deadOf(row: Row): Omit<DeadLetter, 'body'> {
  const [id, queue, job, reason, error, attempt, diedAt] = row as string[];
  return {
    id: id!,
    queue: queue!,
    job: job!,
    reason: reason as AbandonReason,
    error: error ?? '',
    attempt: Number(attempt),
    diedAt: Number(diedAt),
  };
}

export function peekedOf(row: Row): PeekedMessage {
  const [id, queue, job, priority, readyAt, attempt] = row as string[];
  return {
    id: id!,
    queue: queue!,
    job: job!,
    priority: Number(priority),
    readyAt: Number(readyAt),
    attempt: Number(attempt),
  };
}
