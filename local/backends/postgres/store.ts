/** State in Postgres 13 or newer, for queues that keep none. A Postgres queue may use the same schema. */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { cursorOf, listedOf, matches, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { agesFrom, type RecordRow } from '../../../core/kit/records/row.ts';
import {
  isShown,
  type RecordQuery,
  type RecordTable,
  type RowPage,
  recordStore,
} from '../../../core/kit/records/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import { storable } from './arrays.ts';
import { postgresBatches } from './batches.ts';
import type { Row } from './client.ts';
import { type DatabaseOptions, openDatabase } from './database.ts';
import { postgresKeys } from './keys.ts';
import { postgresLimits } from './limits.ts';
import { type PostgresEnds, postgresEnds } from './listen.ts';
import { postgresMetrics } from './metrics.ts';
import { conditions, type Put, purgeStores } from './records.ts';
import { removeSome } from './sql.ts';
import type { PostgresState } from './state.ts';
import { postgresTexts } from './texts.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** Whether waiting for results keeps one connection of the pool for LISTEN, if the pool has 5 or more. @default true */
  readonly listen?: boolean;
  /** For tests. @default the process's clock for records, the database's clock for keys */
  readonly clock?: Clock;
}

export function postgresStore(
  urlOrOptions: string | PostgresStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { clock = systemClock, listen = true, retention } = options;
  const db = openDatabase(options, 'postgresStore()');
  const state = { db, clock, at: () => (options.clock ? clock.now() : null) };
  const ends = postgresEnds(state, listen);
  let open = true;
  return {
    keys: postgresKeys(state),
    records: recordStore(storedRecords(state, ends), { clock, retention }),
    ...storesOf(postgresTexts(state), clock),
    metrics: postgresMetrics(state),
    limits: postgresLimits(state),
    batches: postgresBatches(state),
    migrate: () => db.migrate(),
    async diagnose(request) {
      const { postgresDiagnosis } = await import('./diagnose.ts');
      const kept = { ...backendDefaults.retention, ...retention };
      return postgresDiagnosis({ db, caller: 'postgresStore()', retention: kept, channel: null }, request);
    },
    async close() {
      if (!open) return;
      open = false;
      await ends?.close();
      await db.close();
    },
  };
}

const columns = 'id, version, queue, job, status, created_at, finished_at, guarded_until, "row"';
const types = ['text', 'text', 'text', 'text', 'text', 'bigint', 'bigint', 'bigint', 'text'];
const isDead = `status IN ('failed', 'expired')`;

function valuesOf(row: RecordRow): unknown[] {
  const { id, queue, job, status, createdAt, guardedUntil } = row;
  return [id, randomUUID(), queue, job, status, createdAt, agesFrom(row), guardedUntil, JSON.stringify(row)];
}

/** Records of jobs whose queue keeps none, as JSON. Members that most lists filter by have their own columns. */
function storedRecords({ db, at }: Pick<PostgresState, 'db' | 'at'>, ends: PostgresEnds): RecordTable {
  const s = db.schema;
  const told = (write: string): string => `WITH written AS (${write} RETURNING id, finished_at)
    SELECT CASE WHEN finished_at IS NOT NULL THEN ${s}.tell_ends(ARRAY[id]) END FROM written`;
  const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ');
  const insert = told(
    `INSERT INTO ${s}.records (${columns}) SELECT * FROM unnest(${arrays}) ON CONFLICT (id) DO NOTHING`,
  );
  const values = types.map((_, i) => `$${i + 1}`).join(', ');
  const replace = told(`UPDATE ${s}.records SET (${columns}) = (${values}) WHERE id = $1 AND version = $10`);

  const add = (rows: readonly RecordRow[]) => {
    const values = rows.map(valuesOf);
    const columnwise = types.map((_, i) => values.map((one) => one[i]));
    return db.query('recording', insert, columnwise);
  };
  const read = async (ids: readonly string[]) => {
    const sql = `SELECT "row", version FROM ${s}.records WHERE id = ANY ($1)`;
    const rows = (await db.query('reading', sql, [ids])) as [string, string][];
    return rows.map(([row, version]) => ({ row: JSON.parse(row) as RecordRow, version }));
  };
  return {
    ...(ends && { watchEnd: ends.watch }),
    async add(rows) {
      await add(rows);
    },
    read,
    find: groupedReads(async (ids) => {
      const byId = new Map((await read(ids)).map((one) => [one.row.id, one]));
      return (id) => byId.get(id);
    }),
    async write(row, over) {
      const written = over === null ? add([row]) : db.query('recording', replace, [...valuesOf(row), over]);
      return (await written).length === 1;
    },
    async page(query, max, past) {
      const values: unknown[] = [max, past.dead, past.ended];
      const put: Put = (value) => `$${values.push(typeof value === 'string' ? storable(value) : value)}`;
      // As in the lists of a queue: an index finds the rows, and their number is limited.
      const looked = `
        SELECT w.*, row_number() OVER (ORDER BY created_at DESC, seq DESC) AS n FROM (
          SELECT "row", id, queue, job, status, finished_at, created_at, seq FROM ${s}.records WHERE ${pathOf(query, put)}
          ORDER BY created_at DESC, seq DESC LIMIT ${mostLooked}) w`;
      const shown = `(finished_at IS NULL OR finished_at > CASE WHEN ${isDead} THEN $2::bigint ELSE $3::bigint END)`;
      const where = [shown, ...conditionsOf(query, put)].join(' AND ');
      const sql = `SELECT "row", created_at, seq, n FROM (${looked}) w WHERE n = ${mostLooked} OR (${where})
        ORDER BY created_at DESC, seq DESC LIMIT $1`;
      const matching = (row: RecordRow): boolean => isShown(row, past) && matches(listedOf(row), query);
      return pageOf(await db.inOrder(sql, values), max, matching);
    },
    async purge({ dead, ended }, now) {
      const past = `finished_at <= $4 AND guarded_until <= $1
        AND finished_at <= CASE WHEN ${isDead} THEN $2::bigint ELSE $3::bigint END`;
      const latest = Math.max(dead, ended); // for the index
      const sql = removeSome(`${s}.records`, 'seq', past);
      const [rows] = await db.query('purging', sql, [now, dead, ended, latest]);
      return Number(rows![0]) + (await purgeStores({ db, at }));
    },
  };
}

function pageOf(found: readonly Row[], max: number, matching: (row: RecordRow) => boolean): RowPage {
  const rows: RecordRow[] = [];
  for (const [i, [text, createdAt, seq, looked]] of found.entries()) {
    const row = JSON.parse(text as string) as RecordRow;
    if (matching(row)) rows.push(row);
    if (Number(looked) === mostLooked || i + 1 === max)
      return { rows, next: cursorOf(Number(createdAt), Number(seq)) };
  }
  return { rows, next: null };
}

/** The conditions for the index by time, or by status and time. */
function pathOf({ after, status, createdFrom, createdBefore }: RecordQuery, put: Put): string {
  const path = ['true'];
  if (after !== undefined) {
    const [createdAt, seq] = positionIn(after, 'number', 'number');
    path.push(`(created_at, seq) < (${put(createdAt)}, ${put(seq)})`);
  }
  const by = { 'status = ?': status, 'created_at >= ?': createdFrom, 'created_at < ?': createdBefore };
  return [...path, ...conditions(put, by)].join(' AND ');
}

/** The other conditions on the rows. A member of the JSON is searched as text, and `matches` confirms it. */
function conditionsOf(query: RecordQuery, put: Put): string[] {
  const { queue, job, tenantId, idempotencyKey, schedule, idPrefix } = query;
  const where = conditions(put, { 'queue = ?': queue, 'job = ?': job, 'starts_with(id, ?)': idPrefix });
  for (const [name, value] of Object.entries({ tenantId, idempotencyKey, schedule }))
    if (value !== undefined) where.push(`strpos("row", ${put(`"${name}":${JSON.stringify(value)}`)}) > 0`);
  for (const piece of [query.worker, query.error])
    if (piece !== undefined) where.push(`strpos("row", ${put(JSON.stringify(piece).slice(1, -1))}) > 0`);
  return where;
}
