/** State in Postgres 13 or newer, for queues that keep none. The schema may be that of a Postgres queue. */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import type { RecordRow } from '../../../core/kit/records/row.ts';
import { type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { type DatabaseOptions, openDatabase } from './database.ts';
import { postgresKeys } from './keys.ts';
import { postgresMetrics } from './metrics.ts';
import { removeSome, timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { postgresWorkers } from './workers.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** For tests, also of the keys. @default the process's for records, the database's for keys */
  readonly clock?: Clock;
}

export function postgresStore(
  urlOrOptions: string | PostgresStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'close'>> {
  const options = typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions;
  const { clock = systemClock, retention } = options;
  const db = openDatabase(options, 'postgresStore()');
  const state = { db, clock, at: () => (options.clock ? clock.now() : null) };
  let open = true;
  return {
    keys: postgresKeys(state),
    records: recordStore(postgresTable(state), { clock, retention }),
    workers: postgresWorkers(state),
    metrics: postgresMetrics(state),
    migrate: () => db.migrate(),
    async close() {
      if (open) await db.close();
      open = false;
    },
  };
}

function postgresTable({ db, at }: Pick<PostgresState, 'db' | 'at'>): RecordTable {
  const s = db.schema;
  const columns = 'id, version, queue, job, status, created_at, finished_at, guarded_until, "row"';
  const types = ['text', 'text', 'text', 'text', 'text', 'bigint', 'bigint', 'bigint', 'text'];
  const arrays = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ');
  const insert = `INSERT INTO ${s}.records (${columns}) SELECT * FROM unnest(${arrays})
    ON CONFLICT (id) DO NOTHING RETURNING 1`;
  const values = types.map((_, i) => `$${i + 1}`).join(', ');
  const replace = `UPDATE ${s}.records SET (${columns}) = (${values}) WHERE id = $1 AND version = $10 RETURNING 1`;
  const isDead = `status IN ('failed', 'expired')`;

  function valuesOf(row: RecordRow): unknown[] {
    const { id, queue, job, status, createdAt, finishedAt, guardedUntil } = row;
    const text = JSON.stringify(row);
    return [id, randomUUID(), queue, job, status, createdAt, finishedAt, guardedUntil, text];
  }
  const add = (rows: readonly RecordRow[]) => {
    const values = rows.map(valuesOf);
    const columnwise = types.map((_, i) => values.map((one) => one[i]));
    return db.query('recording', insert, columnwise);
  };
  return {
    async add(rows) {
      await add(rows);
    },
    async read(ids) {
      const sql = `SELECT "row", version FROM ${s}.records WHERE id = ANY ($1)`;
      const rows = (await db.query('reading', sql, [ids])) as [string, string][];
      return rows.map(([row, version]) => ({ row: JSON.parse(row) as RecordRow, version }));
    },
    async write(row, over) {
      const written = over === null ? add([row]) : db.query('recording', replace, [...valuesOf(row), over]);
      return (await written).length === 1;
    },
    async page({ queue, job, status }, max, { dead, ended }) {
      const values: unknown[] = [max, dead, ended];
      const where = [
        `(finished_at IS NULL OR finished_at > CASE WHEN ${isDead} THEN $2::bigint ELSE $3::bigint END)`,
      ];
      if (queue !== undefined) where.push(`queue = $${values.push(queue)}`);
      if (job !== undefined) where.push(`job = $${values.push(job)}`);
      if (status !== undefined) where.push(`status = $${values.push(status)}`);
      const sql = `SELECT "row" FROM ${s}.records WHERE ${where.join(' AND ')} ORDER BY created_at DESC, seq DESC LIMIT $1`;
      const rows = (await db.query('listing', sql, values)).map(
        ([row]) => JSON.parse(row as string) as RecordRow,
      );
      return { rows, next: null };
    },
    async purge({ dead, ended }, now) {
      const past = `finished_at <= $4 AND guarded_until <= $1
        AND finished_at <= CASE WHEN ${isDead} THEN $2::bigint ELSE $3::bigint END`;
      const over = `greatest(hold_until, keep_until) <= ${timeOf('$1')}`;
      const latest = Math.max(dead, ended); // for the index
      const sql = removeSome(`${s}.records`, 'seq', past);
      const [rows] = await db.query('purging', sql, [now, dead, ended, latest]);
      const [keys] = await db.query('purging', removeSome(`${s}.keys`, 'key', over), [at()]);
      return Number(rows![0]) + Number(keys![0]);
    },
  };
}
