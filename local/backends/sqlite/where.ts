/** The conditions of a list, for both tables that keep records. */

import type { RecordFilter } from '../../../core/contract/store.ts';
import { asksAttempts } from '../../../core/kit/records/filter.ts';
import { factOf } from './schema.ts';

export interface Where {
  readonly sql: string[];
  readonly values: (string | number)[];
}

/** After every id that begins alike. */
const last = '\u{10ffff}';

/**
 * What columns say. Whoever lists adds the status.
 */
export function whereOf(filter: RecordFilter, table: 'jobs' | 'records'): Where {
  const { queue, job, tenantId, idempotencyKey, schedule, idPrefix, createdFrom, createdBefore } = filter;
  const sql: string[] = [];
  const values: (string | number)[] = [];
  const add = (condition: string, ...given: (string | number | undefined)[]) => {
    if (given.includes(undefined)) return;
    sql.push(condition);
    values.push(...(given as (string | number)[]));
  };
  add('queue = ?', queue);
  add('job = ?', job);
  add('tenant_id = ?', tenantId);
  const [keyColumn, scheduleColumn] =
    table === 'jobs' ? ['idempotency_key', 'schedule'] : [factOf('idempotencyKey'), factOf('schedule')];
  add(`${keyColumn} = ?`, idempotencyKey);
  add(`${scheduleColumn} = ?`, schedule);
  add('created_at >= ?', createdFrom);
  add('created_at < ?', createdBefore);
  // By row number: without the index of ids SQLite would read the whole table.
  if (idPrefix !== undefined)
    add(`seq IN (SELECT seq FROM ${table} WHERE id >= ? AND id < ?)`, idPrefix, idPrefix + last);
  return { sql, values };
}

/**
 * What `matchesAttempts` will say, or more: whether the JSON has these letters at all.
 *
 * @param error and `reports`: columns
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

/** Whether rows must be read to know if they match, so that a page ends after so many that were looked at. */
export const isLookedFor = (filter: RecordFilter): boolean =>
  asksAttempts(filter) || filter.createdFrom !== undefined || filter.createdBefore !== undefined;
