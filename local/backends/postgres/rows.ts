/** From rows to what callers see. */

import type { DeadLetter, PeekedMessage } from '../../../core/contract/admin.ts';
import type { AbandonReason, JobStatus } from '../../../core/contract/outcome.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import { JobState, recordOf as storedRecordOf } from '../shared/report-lines.ts';
import type { Row } from './client.ts';

const shared = 'seq, id, queue, job, tenant_id, priority, created_at, ready_at, reports, progress';

/** The columns of `selectRecords`, in the order that `recordOf` reads. */
const recordColumns =
  'id, queue, job, tenant_id, state, priority, created_at, ready_at, attempt, finished_at, reason, error, progress, reports';

/** The same as a function that finds one by its id: planning the query for all days takes longer than running it. */
export const recordFunction = (s: string): string => `
  CREATE FUNCTION ${s}.record(the_id text, since bigint) RETURNS TABLE (
    id text, queue text, job text, tenant_id text, state int, priority smallint, created_at bigint, ready_at bigint, attempt int,
    finished_at bigint, reason text, error text, progress text, reports text
  ) LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
  #variable_conflict use_column
  BEGIN
    RETURN QUERY ${selectRecords(s, 'id = the_id', any, null, 'since')};
  END $$;`;

/** One condition for living jobs and one for ended ones. */
interface Where {
  readonly living: string;
  readonly ended: string;
}

export const any: Where = { living: 'true', ended: 'true' };

/** The living, with `state` and the attempts begun. */
const living = (s: string, where: string): string => `
  SELECT ${shared}, attempt + leased::int AS attempt, leased::int AS state, NULL::bigint AS finished_at,
    NULL::text AS reason, NULL::text AS error
  FROM (
    SELECT j.*, NOT EXISTS (SELECT FROM ${s}.ready r WHERE r.queue = j.queue AND r.rank = j.rank AND r.seq = j.seq)
      AND NOT EXISTS (SELECT FROM ${s}.delayed d WHERE d.queue = j.queue AND d.ready_at = j.ready_at AND d.seq = j.seq) AS leased
    FROM ${s}.jobs j) alive
  WHERE ${where}`;
const ended = (table: string, where: string): string => `
  SELECT ${shared}, attempt, ended AS state, finished_at, reason, error FROM ${table} WHERE ${where}`;

/**
 * Records of all tables. Each table gives at most `limit`, so that a long history is not sorted for a short list.
 *
 * @param where a condition on the columns that all tables have
 * @param limit `null` = one record, and so few to choose from that sorting them is quicker than reading them in order
 * @param since what ended before that is past its retention, though its day is not dropped yet
 */
export function selectRecords(
  s: string,
  where: string,
  state: Where,
  limit: string | null,
  since: string,
): string {
  const both = (own: string) => `${where} AND ${own}`;
  const each = limit === null ? '' : `ORDER BY seq DESC LIMIT ${limit}`;
  // `+ 0` keeps the planner from the indexes by seq, of which it would read all.
  const order = limit === null ? 'ORDER BY seq + 0 DESC LIMIT 1' : each;
  const parts = [
    living(s, both(state.living)),
    ended(`${s}.dead`, both(state.ended)),
    ended(`${s}.history`, both(`${state.ended} AND finished_at > ${since}`)),
  ];
  return `SELECT ${recordColumns} FROM (${parts.map((part) => `(${part} ${each})`).join(' UNION ALL ')}) records ${order}`;
}

const isEnded = (status: keyof typeof JobState): Where => ({
  living: 'false',
  ended: `ended = ${JobState[status]}`,
});

/** Those that may be leased, of which there are few. Searching all living jobs would take long. */
const maybeLeased = (s: string): string =>
  `id IN (SELECT unnest(ids) FROM ${s}.leases UNION ALL SELECT id FROM ${s}.renewals)`;

/** The records that have a status, as conditions for `selectRecords`. */
export const statusWhere = (s: string): Record<JobStatus, Where> => ({
  pending: { living: 'NOT leased AND attempt = 0', ended: 'false' },
  retrying: { living: 'NOT leased AND attempt > 0', ended: 'false' },
  processing: { living: `leased AND ${maybeLeased(s)}`, ended: 'false' },
  completed: isEnded('completed'),
  failed: isEnded('failed'),
  cancelled: isEnded('cancelled'),
  expired: isEnded('expired'),
});

export function recordOf(row: Row): JobRecord {
  const [id, queue, job, tenantId, state, priority, createdAt, readyAt, attempt, finishedAt] = row;
  const [reason, error, progress, reports] = row.slice(10) as (string | null)[];
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
  });
}

function statusOf(state: number, attempts: number): JobStatus {
  if (state === JobState.leased) return 'processing';
  if (state === JobState.waiting) return attempts > 0 ? 'retrying' : 'pending';
  return stateNames[state] as JobStatus;
}

const stateNames = Object.keys(JobState);

export const deadColumns = 'id, queue, job, reason, error, attempt, finished_at, body';

export function deadLetterOf(row: Row): DeadLetter {
  const [id, queue, job, reason, error, attempt, diedAt, body] = row as string[];
  return {
    id: id!,
    queue: queue!,
    job: job!,
    reason: reason as AbandonReason,
    error: error ?? '',
    attempt: Number(attempt),
    diedAt: Number(diedAt),
    body: body!,
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
