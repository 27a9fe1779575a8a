/** The conditions of a list, for both tables with records: how rows are found, and which columns are then compared. */

import type { RecordFilter } from '../../../core/contract/store.ts';
import { JobState } from '../shared/report-lines.ts';
import type { Database } from './database.ts';
import { factOf, isDead, keptAsUsual } from './schema.ts';

export interface Where {
  readonly sql: string[];
  readonly values: (string | number)[];
}

/** How rows are found. */
export interface Path {
  readonly sql: string;
  readonly values: readonly (string | number)[];
  /** Whether it covers the whole filter, so that every row that it finds matches. */
  readonly isAll: boolean;
}

type Table = 'jobs' | 'records';

/** Appended to a prefix, it sorts after every id with that prefix. */
const last = '\u{10ffff}';
/** The most rows that may be found out of order and then sorted. */
const mostFound = 2_000;

const columnsOf = {
  jobs: { idempotencyKey: 'idempotency_key', schedule: 'schedule' },
  records: { idempotencyKey: factOf('idempotencyKey'), schedule: factOf('schedule') },
} as const;

/** Chooses an index that finds few rows, or finds them in the order of the list. At most the newest 10,000 of its rows are read. */
export function pathOf(db: Database, filter: RecordFilter, table: Table): Path {
  const { idempotencyKey, schedule, tenantId, status } = filter;
  const asked = Object.keys(filter).length;
  const path = (sql: string, ...values: (string | number)[]): Path => ({ sql, values, isAll: asked === 1 });
  const columns = columnsOf[table];
  if (idempotencyKey !== undefined) return path(`${columns.idempotencyKey} = ?`, idempotencyKey);
  const narrow = [prefixOf(filter, table), table === 'jobs' ? statusSourceOf(filter) : null];
  for (const source of narrow)
    if (source && findsFew(db, source)) return path(`seq IN (${source.sql})`, ...source.values);
  if (schedule !== undefined) return path(`${columns.schedule} = ?`, schedule);
  if (tenantId !== undefined) return path('tenant_id = ?', tenantId);
  if (status !== undefined && table === 'records') return path('status = ?', status);
  return { sql: 'true', values: [], isAll: asked === 0 };
}

type Source = Pick<Path, 'sql' | 'values'>;

function prefixOf({ idPrefix }: RecordFilter, table: Table): Source | null {
  if (idPrefix === undefined) return null;
  return { sql: `SELECT seq FROM ${table} WHERE id >= ? AND id < ?`, values: [idPrefix, idPrefix + last] };
}

/** A query for the jobs of a status that may be rare; `null` = there is none. */
function statusSourceOf({ status, queue }: RecordFilter): Source | null {
  const from = (tables: readonly string[], where: string): Source => ({
    sql: tables
      .map((table) => `SELECT seq FROM ${table} WHERE ${where}${queue === undefined ? '' : ' AND queue = ?'}`)
      .join(' UNION ALL '),
    values: queue === undefined ? [] : tables.map(() => queue),
  });
  const waiting = ['ready', 'delayed', 'grouped']; // `grouped` also has other jobs, which the condition on the status removes
  if (status === 'processing') return from(['leases'], 'true');
  if (status === 'retrying') return from(waiting, 'attempt > 0');
  if (status === 'pending') return queue === undefined ? null : from(waiting, 'true');
  if (status === 'failed' || status === 'expired')
    return from(['jobs'], queue === undefined ? `${isDead} AND ended = ${JobState[status]}` : isDead);
  if (status === 'cancelled') {
    // Each half has an index of its own.
    const halves = [keptAsUsual, 'keep_until IS NOT NULL'];
    const where = (half: string) => `SELECT seq FROM jobs WHERE ${half} AND ended = ${JobState.cancelled}`;
    return { sql: halves.map(where).join(' UNION ALL '), values: [] };
  }
  return null;
}

function findsFew(db: Database, { sql, values }: Source): boolean {
  const counting = db.prepare(`SELECT count(*) AS count FROM (${sql} LIMIT ${mostFound + 1})`);
  return (counting.get(...values)?.count as number) <= mostFound;
}

/**
 * Conditions on the columns of rows that a path has found: `+` keeps SQLite from using another index. The caller adds the status.
 */
export function whereOf(filter: RecordFilter, table: Table): Where {
  const { queue, job, tenantId, idempotencyKey, schedule, idPrefix, createdFrom, createdBefore } = filter;
  const sql: string[] = [];
  const values: (string | number)[] = [];
  const add = (condition: string, ...given: (string | number | undefined)[]) => {
    if (given.includes(undefined)) return;
    sql.push(condition);
    values.push(...(given as (string | number)[]));
  };
  add('+queue = ?', queue);
  add('+job = ?', job);
  add('+tenant_id = ?', tenantId);
  add(`+(${columnsOf[table].idempotencyKey}) = ?`, idempotencyKey);
  add(`+(${columnsOf[table].schedule}) = ?`, schedule);
  add('+created_at >= ?', createdFrom);
  add('+created_at < ?', createdBefore);
  if (idPrefix !== undefined) add('+id >= ? AND +id < ?', idPrefix, idPrefix + last);
  return { sql, values };
}

/**
 * A condition that finds at least the rows of `matchesAttempts`: it only checks whether the JSON contains the text.
 *
 * @param error like `reports`, the name of a column
 */
export function maybeAttempts(filter: RecordFilter, error: string, reports: string): Where {
  const sql: string[] = [];
  const values: string[] = [];
  if (filter.worker !== undefined) {
    sql.push(`instr(${reports}, ?) > 0`);
    values.push(JSON.stringify(filter.worker));
  }
  if (filter.error !== undefined) {
    sql.push(`(instr(${error}, ?) > 0 OR instr(${reports}, ?) > 0)`);
    values.push(filter.error, JSON.stringify(filter.error).slice(1, -1));
  }
  return { sql, values };
}
