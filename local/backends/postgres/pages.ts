/**
 * Lists of records, page by page, in the order in which the jobs came: by `seq`, which a job keeps for life. A page looks at so many
 * rows of each table at most, so that what is rare in a long backlog or a long history takes several short calls, and no long one.
 */

import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { JobRecord, RecordFilter, RecordPage } from '../../../core/contract/store.ts';
import { cursorOf, matches, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { GroupState } from '../shared/groups.ts';
import { JobState } from '../shared/report-lines.ts';
import { storable } from './arrays.ts';
import type { Row } from './client.ts';
import { readInOrder } from './in-order.ts';
import { storedKey } from './keys.ts';
import { leasedOf, positionOf, type RecordTable, recordOf, recordTables, type TableName } from './rows.ts';
import type { PostgresState } from './state.ts';

type Query = RecordFilter & { readonly after?: string };
/** Adds a value to the parameters; gives its name in the text. */
type Put = (value: string | number | null | readonly string[]) => string;

/** Jobs that are found by other means than their order, such as those of a short queue, if there are at most so many. */
const fewIds = 2_000;
/** After every text that begins with another one. */
const last = '\u{10FFFF}';
const dayMs = 86_400_000;

const allTables: readonly TableName[] = ['jobs', 'dead', 'history'];
const tableOf: Readonly<Record<JobStatus, TableName>> = {
  pending: 'jobs',
  retrying: 'jobs',
  processing: 'jobs',
  completed: 'history',
  cancelled: 'history',
  failed: 'dead',
  expired: 'dead',
};

/** @param keptSince what ended before that is past its retention, though its day is not dropped yet */
export function createPages(state: PostgresState, keptSince: (at: string) => string) {
  const { db } = state;
  const s = db.schema;
  const tables = recordTables(s);

  /** In no order; `null` = there are more. */
  async function few(sql: string, value: unknown[]): Promise<string[] | null> {
    const rows = await readInOrder(db, `SELECT id FROM (${sql}) found LIMIT ${fewIds + 1}`, value);
    return rows.length > fewIds ? null : rows.map(([id]) => id as string);
  }

  function fewBeginningWith(prefix: string): Promise<string[] | null> {
    const from = (table: string) =>
      `(SELECT id FROM ${s}.${table} WHERE id >= $1 AND id < $2 ORDER BY id LIMIT ${fewIds + 1})`;
    return few(allTables.map(from).join(' UNION ALL '), [storable(prefix), storable(prefix) + last]);
  }

  /** Every living job of the queue is in one of these tables. */
  function fewOfQueue(queue: string): Promise<string[] | null> {
    const from = (table: string, order: string, where = '') =>
      `(SELECT id FROM ${s}.${table} WHERE queue = $1 ${where} ORDER BY queue, ${order} LIMIT ${fewIds + 1})`;
    const parts = [
      from('ready', 'rank, seq'),
      from('delayed', 'ready_at, seq'),
      from('grouped', 'name, state, place, seq', `AND state = ${GroupState.inLine}`),
      from('renewals', 'until'),
    ];
    const leased = `SELECT unnest(ids) AS id FROM ${s}.leases WHERE queue = $1`;
    return few([...parts, leased].join(' UNION ALL '), [storable(queue)]);
  }

  /** Those that may be leased, of which there are few. */
  const maybeLeased = `SELECT unnest(ids) AS id FROM ${s}.leases UNION SELECT id FROM ${s}.renewals`;
  /** Looks up each: `OFFSET 0` keeps the planner from reading the whole table in order. */
  const lookedUp = ({ name, columns }: RecordTable, ids: string): string =>
    `(SELECT t.* FROM (${ids}) l (id) CROSS JOIN LATERAL (SELECT ${columns} FROM ${name} WHERE id = l.id OFFSET 0) t) t`;

  /** The newest rows of a table that match; and the last one that was looked at, if there may be more. */
  function partOf(
    name: TableName,
    filter: Query,
    ids: readonly string[] | null,
    put: Put,
    { max, most }: { readonly max: string; readonly most: number },
  ): string {
    const { name: table, columns, select } = tables[name];
    const given = ids
      ? `SELECT unnest(${put(ids)}::text[])`
      : filter.status === 'processing'
        ? maybeLeased
        : null;
    const source = given === null ? table : lookedUp(tables[name], given);
    const path = given === null ? pathOf(name, filter, put) : [];
    const where = conditionsOf(name, filter, put);
    const status = name === 'jobs' ? livingStatus(filter.status) : null;
    if (status) where.push(status);
    if (name === 'history') {
      where.push(`(finished_at > ${keptSince(put(state.at()))} OR keep_until IS NOT NULL)`);
      // No job ends before it was created: whole days are passed over.
      const { createdFrom } = filter;
      if (createdFrom !== undefined)
        path.push(`finished_at >= ${put(Math.floor(createdFrom / dayMs) * dayMs)}`);
    }
    const looked = `
      SELECT w.*, row_number() OVER (ORDER BY seq DESC) AS n FROM (
        SELECT ${columns} FROM ${source} WHERE ${['seq < $1', ...path].join(' AND ')} ORDER BY seq DESC LIMIT ${most}) w`;
    const found = `SELECT * FROM (${looked}) w WHERE n = ${most} OR (${['true', ...where].join(' AND ')})`;
    return `(${select(`(${found} ORDER BY seq DESC LIMIT ${max})`)})`;
  }

  function livingStatus(status: JobStatus | undefined): string | null {
    if (status === undefined) return null;
    const leased = leasedOf(s, 'w');
    if (status === 'processing') return leased;
    return `attempt ${status === 'pending' ? '=' : '>'} 0 AND NOT ${leased}`;
  }

  return async function page(filter: Query): Promise<RecordPage> {
    const { status, idPrefix, queue, max = 100 } = filter;
    const after =
      filter.after === undefined ? Number.MAX_SAFE_INTEGER : positionIn(filter.after, 'number')[0];
    const names = status === undefined ? allTables : [tableOf[status]];
    const chosen = idPrefix === undefined ? null : await fewBeginningWith(idPrefix);
    const ofQueue = queue !== undefined && names.includes('jobs') ? await fewOfQueue(queue) : null;
    const values: unknown[] = [after];
    const put: Put = (value) => `$${values.push(typeof value === 'string' ? storable(value) : value)}`;
    const limits = { max: put(max), most: Math.ceil(mostLooked / names.length) };
    const parts = names.map((name) =>
      partOf(name, filter, chosen ?? (name === 'jobs' ? ofQueue : null), put, limits),
    );
    const sql = `SELECT * FROM (${parts.join(' UNION ALL ')}) records ORDER BY seq DESC LIMIT ${limits.max}`;
    return pageOf(await readInOrder(db, sql, values), filter, { max, most: limits.most });
  };
}

function pageOf(
  rows: readonly Row[],
  filter: Query,
  { max, most }: { readonly max: number; readonly most: number },
): RecordPage {
  const records: JobRecord[] = [];
  for (const [i, row] of rows.entries()) {
    const { seq, looked } = positionOf(row);
    const record = recordOf(row);
    if (matches(record, filter)) records.push(record);
    if (looked === most || i + 1 === max) return { records, next: cursorOf(seq) };
  }
  return { records, next: null };
}

/** Conditions that an index answers in the order of `seq`. */
function pathOf(name: TableName, filter: RecordFilter, put: Put): string[] {
  const { idempotencyKey, schedule, tenantId, status } = filter;
  if (idempotencyKey !== undefined) return [`idempotency_key = ${put(storedKey(idempotencyKey))}`];
  if (schedule !== undefined) return [`schedule = ${put(storedKey(schedule))}`];
  if (name !== 'jobs') return [];
  if (tenantId !== undefined) return [`tenant_id COLLATE "C" = ${put(tenantId)}`];
  return status === 'retrying' ? ['attempt > 0'] : [];
}

/** What is left to compare of the rows that were looked at: nearly as `matches` does it, so that few are read for nothing. */
function conditionsOf(name: TableName, filter: RecordFilter, put: Put): string[] {
  const { queue, job, status, tenantId, idempotencyKey, schedule, worker, error } = filter;
  const { idPrefix, createdFrom, createdBefore } = filter;
  const where: string[] = [];
  if (queue !== undefined) where.push(`queue = ${put(queue)}`);
  if (job !== undefined) where.push(`job = ${put(job)}`);
  if (tenantId !== undefined) where.push(`tenant_id = ${put(tenantId)}`);
  if (idempotencyKey !== undefined) where.push(`idempotency_key = ${put(storedKey(idempotencyKey))}`);
  if (schedule !== undefined) where.push(`schedule = ${put(storedKey(schedule))}`);
  if (createdFrom !== undefined) where.push(`created_at >= ${put(createdFrom)}`);
  if (createdBefore !== undefined) where.push(`created_at < ${put(createdBefore)}`);
  if (idPrefix !== undefined) where.push(`id >= ${put(idPrefix)} AND id < ${put(idPrefix + last)}`);
  if (status !== undefined && name !== 'jobs')
    where.push(`ended = ${JobState[status as keyof typeof JobState]}`);
  if (worker !== undefined) {
    const ranOn = (role: string) => `strpos(reports, ${put(`"${role}":${JSON.stringify(worker)}`)}) > 0`;
    where.push(`(${ranOn('worker')} OR ${ranOn('host')})`);
  }
  if (error !== undefined) {
    const inReport = `strpos(reports, ${put(JSON.stringify(error).slice(1, -1))}) > 0`;
    where.push(name === 'jobs' ? inReport : `(strpos(error, ${put(error)}) > 0 OR ${inReport})`);
  }
  return where;
}
