/** State in one SQLite file, for queues that keep none. The file may be that of a SQLite queue. */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import type { RecordRow } from '../../../core/kit/records/row.ts';
import { type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { type Database, openDatabase, type SqliteFileOptions } from './database.ts';
import { type SqliteKeys, sqliteKeys } from './keys.ts';
import { sqliteMetrics } from './metrics.ts';
import { stepSize } from './schema.ts';
import { sqliteWorkers } from './workers.ts';

export interface SqliteStoreOptions extends SqliteFileOptions {
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  readonly clock?: Clock;
}

export function sqliteStore(
  pathOrOptions: string | SqliteStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'close'>> {
  const options = typeof pathOrOptions === 'string' ? { path: pathOrOptions } : pathOrOptions;
  const { clock = systemClock, retention } = options;
  const db = openDatabase('sqliteStore()', options);
  const keys = sqliteKeys({ db, clock });
  let open = true;
  return {
    keys,
    records: recordStore(sqliteTable(db, keys), { clock, retention }),
    workers: sqliteWorkers({ db }),
    metrics: sqliteMetrics({ db }),
    migrate: async () => db.version, // opening the file has done it
    async close() {
      if (open) db.close();
      open = false;
    },
  };
}

function sqliteTable(db: Database, keys: SqliteKeys): RecordTable {
  const columns = 'version, queue, job, status, created_at, finished_at, guarded_until, row, id';
  const add = db.prepare(
    `INSERT INTO records (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const replace = db.prepare(`
    UPDATE records SET version = ?, queue = ?, job = ?, status = ?, created_at = ?, finished_at = ?, guarded_until = ?, row = ?
    WHERE id = ? AND version = ?`);
  const read = db.prepare('SELECT version, row FROM records WHERE id IN (SELECT value FROM json_each(?))');
  const dead = `status IN ('failed', 'expired')`;
  const removePast = db.prepare(`
    DELETE FROM records WHERE seq IN (
      SELECT seq FROM records WHERE finished_at <= iif(${dead}, ?, ?) AND finished_at <= ? AND guarded_until <= ?
      LIMIT ${stepSize})`);

  function valuesOf(row: RecordRow): (string | number | null)[] {
    const { queue, job, status, createdAt, finishedAt, guardedUntil, id } = row;
    const text = JSON.stringify(row);
    return [randomUUID(), queue, job, status, createdAt, finishedAt, guardedUntil, text, id];
  }
  const rowOf = (text: unknown): RecordRow => JSON.parse(text as string) as RecordRow;

  return {
    async add(rows) {
      db.transaction('recording', () => {
        for (const row of rows) add.run(...valuesOf(row));
      });
    },
    async read(ids) {
      const found = db.run('reading', () => read.all(JSON.stringify(ids)));
      return found.map(({ row, version }) => ({ row: rowOf(row), version: version as string }));
    },
    async write(row, over) {
      const values = valuesOf(row);
      const write = () => (over === null ? add.run(...values) : replace.run(...values, over));
      return db.run('recording', write).changes === 1;
    },
    async page({ queue, job, status }, max, past) {
      const where = [`(finished_at IS NULL OR finished_at > iif(${dead}, ?, ?))`];
      const values: (string | number)[] = [past.dead, past.ended];
      if (queue !== undefined) where.push('queue = ?') && values.push(queue);
      if (job !== undefined) where.push('job = ?') && values.push(job);
      if (status !== undefined) where.push('status = ?') && values.push(status);
      const sql = `SELECT row FROM records WHERE ${where.join(' AND ')} ORDER BY created_at DESC, seq DESC LIMIT ?`;
      const found = db.run('listing', () => db.prepare(sql).all(...values, max));
      return { rows: found.map(({ row }) => rowOf(row)), next: null };
    },
    async purge(past, now) {
      const latest = Math.max(past.dead, past.ended); // for the index
      return db.transaction('purging', () => {
        const rows = removePast.run(past.dead, past.ended, latest, now).changes;
        return Number(rows) + keys.purgeNow(now);
      });
    },
  };
}
