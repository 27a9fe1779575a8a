import type { JobStatus } from '../../../core/contract/outcome.ts';
import type {
  CancelResult,
  JobRecord,
  RecordFilter,
  RecordPage,
  RecordStore,
  Retention,
} from '../../../core/contract/store.ts';
import { cursorOf, matches, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import { GroupState } from '../shared/groups.ts';
import { JobState } from '../shared/report-lines.ts';
import { storable, textArray } from './arrays.ts';
import { purgeBatches } from './batches-sql.ts';
import type { Row } from './client.ts';
import { cameFrom, thenCame } from './group-pieces.ts';
import { storedKey } from './keys.ts';
import { ownership } from './lease-table.ts';
import { purgeLimits } from './limits-sql.ts';
import { cancelPayload, channelOf, type PostgresEnds } from './listen.ts';
import { leasedOf, positionOf, type RecordTable, recordOf, recordTables, type TableName } from './rows.ts';
import { removeSome, stepSize, timeOf, usualEnd } from './sql.ts';
import type { PostgresState } from './state.ts';
import { purgeTexts } from './texts.ts';

const keyEnd = 'greatest(hold_until, keep_until)';

/** One step of a purge of everything except records; returns how many rows it removed. */
export async function purgeStores({ db, at }: Pick<PostgresState, 'db' | 'at'>): Promise<number> {
  const s = db.schema;
  const now = timeOf('$1');
  const steps = [
    removeSome(`${s}.keys`, 'key', `${keyEnd} <= (SELECT ${now}) ORDER BY ${keyEnd}`),
    removeSome(`${s}.waits`, 'ctid', `until <= ${now}`),
    ...[purgeLimits, purgeTexts, purgeBatches].map((purge) => purge(s, now)),
  ];
  let removed = 0;
  for (const sql of steps) removed += Number((await db.query('purging', sql, [at()]))[0]![0]);
  return removed;
}

export function postgresRecords(state: PostgresState, ends: PostgresEnds): RecordStore {
  const { db, keep } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const keptSince = (at: string) => `${timeOf(at)} - ${state.retention.completedMs}`;
  // Also with `listen: false` in this process, because workers in other processes may listen.
  const channel = channelOf(s.slice(1, -1));
  const cancelSql = `
    SELECT answer, came, CASE WHEN answer = 'cancelling' THEN pg_notify($4, $5) END
    FROM (${thenCame(`${s}.cancel($1, $2, $3)`)} OFFSET 0) c (answer, came)`;
  const page = createPages(state, keptSince);

  async function bodyOf(id: string): Promise<string | null> {
    const sql = `
      SELECT body FROM ${s}.jobs WHERE id = $1 UNION ALL SELECT body FROM ${s}.dead WHERE id = $1
      UNION ALL SELECT body FROM ${s}.history WHERE id = $1 AND finished_at > ${keptSince('$2')} LIMIT 1`;
    const [row] = await db.query('reading', sql, [id, state.at()]);
    return (row?.[0] as string | null | undefined) || null;
  }

  return {
    get: groupedReads(async (ids) => {
      const sql = `SELECT found.* FROM unnest($1::text[]) asked, ${s}.record(asked, ${keptSince('$2')}) found`;
      const rows = await db.query('reading', sql, [textArray(ids), state.at()]);
      const byId = new Map(rows.map((row) => [row[0], row]));
      return (id) => {
        const row = byId.get(id);
        return row ? recordOf(row) : null;
      };
    }),

    page,
    body: bodyOf,

    async progress(id, token, progress) {
      const { batch, version } = ownership({ token });
      const sql = `UPDATE ${s}.jobs SET progress = $2 WHERE id = $3 AND turn = $4 AND coalesce(
          (SELECT until > ${now} FROM ${s}.renewals WHERE id = $3 AND claim = $5),
          EXISTS (SELECT FROM ${s}.leases WHERE claim = $5 AND until > ${now})) RETURNING 1`;
      const values = [state.at(), JSON.stringify(progress), id, version, batch];
      return (await db.query('writing progress', sql, values)).length === 1;
    },

    async cancel(id) {
      const [row] = await db.query('cancelling', cancelSql, [state.at(), keep, id, channel, cancelPayload]);
      state.wakeAll(cameFrom(row![1]));
      return row![0] as CancelResult;
    },

    ...(ends && { watchEnd: ends.watch }),

    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      const sql = `SELECT id FROM ${s}.jobs WHERE id = ANY ($1) AND cancel_requested`;
      return (await db.query('reading', sql, [ids])).map(([id]) => id as string);
    },

    async purge(olderThan?: Retention) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const at = state.at();
      // A subquery, because no index is used for a comparison with a running clock.
      const before = `(SELECT ${now} - $2::bigint)`;
      // One day at a time, because a `ctid` is unique within the table of a day only.
      const stepOfDay = (table: string) => `
        WITH day AS (SELECT tableoid AS oid FROM ${s}.${table} WHERE finished_at <= ${before} LIMIT 1),
        gone AS (
          DELETE FROM ${s}.${table} WHERE tableoid = (SELECT oid FROM day) AND ctid = ANY (ARRAY(
            SELECT ctid FROM ${s}.${table} WHERE finished_at <= ${before} AND tableoid = (SELECT oid FROM day)
            LIMIT ${stepSize} FOR UPDATE SKIP LOCKED))
          RETURNING 1)
        SELECT count(*) FROM gone`;
      await db.query('purging', `SELECT ${s}.make_days($1)`, [at]);
      // Whole days are dropped at once. Expired rows in the oldest day stay hidden until it is dropped. Rows are removed one by one only
      // on request, or if they have no day, because no worker has run for a week.
      const rest = olderThan ? 'history' : 'history_other';
      const usual = `${usualEnd} <= ${before} ORDER BY ${usualEnd}, seq`;
      const own = `keep_until <= ${before} ORDER BY keep_until`;
      const steps: [sql: string, values: unknown[]][] = [
        [`SELECT ${s}.drop_days($1, $2)`, [at, completedMs]],
        [stepOfDay(rest), [at, completedMs]],
        [removeSome(`${s}.dead`, 'id', usual), [at, deadMs]],
        [removeSome(`${s}.dead`, 'id', own), [at, deadMs - state.retention.deadMs]],
        [removeSome(`${s}.history_kept`, 'ctid', own), [at, completedMs - state.retention.completedMs]],
      ];
      let removed = 0;
      for (const [sql, values] of steps) removed += Number((await db.query('purging', sql, values))[0]![0]);
      return removed + (await purgeStores(state));
    },
  };
}

type Query = RecordFilter & { readonly after?: string };
/** Adds a value to the parameters; returns its name in the SQL. */
export type Put = (value: string | number | null | readonly string[]) => string;

/** The most jobs that are found by another index and then sorted, such as the jobs of a short queue. */
const fewIds = 2_000;
/** Appended to a prefix, it sorts after every text with that prefix. */
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

/**
 * Lists of records, page by page, by `seq`: the order in which the jobs came, which a job keeps for life. A page reads a limited number
 * of rows of each table, so that a search for rare records takes several short calls instead of a long one.
 *
 * @param keptSince records that ended before this moment are past their retention, even if their day is not dropped yet
 */
function createPages(state: PostgresState, keptSince: (at: string) => string) {
  const { db } = state;
  const s = db.schema;
  const tables = recordTables(s);

  /** Ids in any order; `null` = there are more than `fewIds`. */
  async function few(sql: string, value: unknown[]): Promise<string[] | null> {
    const rows = await db.inOrder(`SELECT id FROM (${sql}) found LIMIT ${fewIds + 1}`, value);
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

  /** Ids of jobs that may be leased. There are only few. */
  const maybeLeased = `SELECT unnest(ids) AS id FROM ${s}.leases UNION SELECT id FROM ${s}.renewals`;
  /** Looks up each id: `OFFSET 0` keeps the planner from reading the whole table in order. */
  const lookedUp = ({ name, columns }: RecordTable, ids: string): string =>
    `(SELECT t.* FROM (${ids}) l (id) CROSS JOIN LATERAL (SELECT ${columns} FROM ${name} WHERE id = l.id OFFSET 0) t) t`;

  /** The newest matching rows of a table, and the last row that was read, if there may be more. */
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
      // No job ends before it was created, so earlier days are skipped.
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
    return pageOf(await db.inOrder(sql, values), filter, { max, most: limits.most });
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

/** Conditions for which an index finds the rows in the order of `seq`. */
function pathOf(name: TableName, filter: RecordFilter, put: Put): string[] {
  const { idempotencyKey, schedule, tenantId, status } = filter;
  if (idempotencyKey !== undefined) return [`idempotency_key = ${put(storedKey(idempotencyKey))}`];
  if (schedule !== undefined) return [`schedule = ${put(storedKey(schedule))}`];
  if (name !== 'jobs') return [];
  if (tenantId !== undefined) return [`tenant_id COLLATE "C" = ${put(tenantId)}`];
  return status === 'retrying' ? ['attempt > 0'] : [];
}

/** The other conditions on the rows. They find nearly the same rows as `matches`, so that few are sent in vain. */
function conditionsOf(name: TableName, filter: RecordFilter, put: Put): string[] {
  const { queue, job, status, tenantId, idempotencyKey, schedule, worker, error } = filter;
  const { idPrefix, createdFrom, createdBefore } = filter;
  const where = conditions(put, {
    'queue = ?': queue,
    'job = ?': job,
    'tenant_id = ?': tenantId,
    'idempotency_key = ?': idempotencyKey && storedKey(idempotencyKey),
    'schedule = ?': schedule && storedKey(schedule),
    'created_at >= ?': createdFrom,
    'created_at < ?': createdBefore,
    'starts_with(id, ?)': idPrefix,
    'ended = ?': name === 'jobs' ? undefined : JobState[status as keyof typeof JobState],
  });
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

/** The conditions that have a value, each with a parameter for its `?`. */
export const conditions = (
  put: Put,
  values: Readonly<Record<string, string | number | undefined>>,
): string[] =>
  Object.entries(values).flatMap(([sql, value]) =>
    value === undefined ? [] : [sql.replace('?', put(value))],
  );
