/** State in one SQLite file, for queues that keep none. A SQLite queue may use the same file. */

import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { cursorOf, matchesAttempts, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { agesFrom, type RecordRow } from '../../../core/kit/records/row.ts';
import {
  defaultRetention,
  type Past,
  type RecordQuery,
  type RecordTable,
  type RowPage,
  recordStore,
} from '../../../core/kit/records/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { sqliteBatches } from './batches.ts';
import { type Database, openDatabase, type SqliteFileOptions } from './database.ts';
import { sqliteKeys } from './keys.ts';
import { sqliteLimits } from './limits.ts';
import { stepSize } from './schema.ts';
import type { Purgeable } from './state.ts';
import { sqliteTexts } from './texts.ts';
import { maybeAttempts, pathOf, whereOf } from './where.ts';

export interface SqliteStoreOptions extends SqliteFileOptions {
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
}

export function sqliteStore(
  pathOrOptions: string | SqliteStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  const options = typeof pathOrOptions === 'string' ? { path: pathOrOptions } : pathOrOptions;
  const { clock = systemClock, retention } = options;
  const db = openDatabase('sqliteStore()', options);
  const keys = sqliteKeys({ db, clock });
  const limits = sqliteLimits({ db, clock });
  const texts = sqliteTexts({ db });
  const batches = sqliteBatches({ db, clock });
  let open = true;
  return {
    keys,
    records: recordStore(sqliteTable(db, [keys, limits, texts, batches]), { clock, retention }),
    ...storesOf(texts, clock),
    limits,
    batches,
    migrate: async () => db.version, // done when the file was opened
    async diagnose(request) {
      const { sqliteDiagnosis } = await import('./diagnose.ts');
      const of = { db, path: options.path, caller: 'sqliteStore()' };
      return sqliteDiagnosis({ ...of, retention: { ...defaultRetention, ...retention } }, request);
    },
    async close() {
      if (open) db.close();
      open = false;
    },
  };
}

function sqliteTable(db: Database, others: readonly Purgeable[]): RecordTable {
  const columns =
    'version, queue, job, tenant_id, facts, status, created_at, finished_at, guarded_until, row, id';
  const add = db.prepare(
    `INSERT INTO records (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const replace = db.prepare(`
    UPDATE records SET version = ?, queue = ?, job = ?, tenant_id = ?, facts = ?, status = ?, created_at = ?, finished_at = ?,
      guarded_until = ?, row = ?
    WHERE id = ? AND version = ?`);
  const read = db.prepare('SELECT version, row FROM records WHERE id IN (SELECT value FROM json_each(?))');
  const dead = `status IN ('failed', 'expired')`;
  const removePast = db.prepare(`
    DELETE FROM records WHERE seq IN (
      SELECT seq FROM records WHERE finished_at <= iif(${dead}, ?, ?) AND finished_at <= ? AND guarded_until <= ?
      LIMIT ${stepSize})`);

  function valuesOf(row: RecordRow): (string | number | null)[] {
    const { queue, job, tenantId, status, createdAt, guardedUntil, id } = row;
    const [facts, text] = [row.facts ? JSON.stringify(row.facts) : null, JSON.stringify(row)];
    return [
      ...[randomUUID(), queue, job, tenantId, facts, status],
      ...[createdAt, agesFrom(row), guardedUntil, text, id],
    ];
  }
  const rowOf = (text: unknown): RecordRow => JSON.parse(text as string) as RecordRow;

  function page({ after, ...filter }: RecordQuery, max: number, past: Past): RowPage {
    const [at, seq] =
      after === undefined ? [Number.MAX_SAFE_INTEGER, 0] : positionIn(after, 'number', 'number');
    const path = pathOf(db, filter, 'records');
    const edge = db.prepare(`
      SELECT created_at AS at, seq FROM records WHERE (created_at, seq) < (?, ?) AND ${path.sql}
      ORDER BY created_at DESC, seq DESC LIMIT 1 OFFSET ${mostLooked - 1}`);
    /** The last row to read; undefined = all. */
    const first = path.isAll
      ? undefined
      : (edge.get(at, seq, ...path.values) as { at: number; seq: number } | undefined);
    const columns = whereOf(filter, 'records');
    const attempts = maybeAttempts(filter, 'row', 'row');
    const where = [
      '(created_at, seq) < (?, ?)',
      '(created_at, seq) >= (?, ?)',
      path.sql,
      `(finished_at IS NULL OR finished_at > iif(${dead}, ?, ?))`,
      ...columns.sql,
      ...attempts.sql,
    ];
    const values = [at, seq, first?.at ?? 0, first?.seq ?? 0, ...path.values, past.dead, past.ended];
    const { status } = filter;
    if (status !== undefined) where.push('+status = ?');
    const found = db
      .prepare(
        `SELECT created_at AS at, seq, row FROM records WHERE ${where.join(' AND ')} ORDER BY created_at DESC, seq DESC`,
      )
      .iterate(...values, ...columns.values, ...attempts.values, ...(status === undefined ? [] : [status]));
    const rows: RecordRow[] = [];
    let last: readonly [number, number] = [0, 0];
    for (const one of found as Iterable<{ at: number; seq: number; row: string }>) {
      const row = rowOf(one.row);
      if (!matchesAttempts(row, filter)) continue;
      if (rows.length === max) return { rows, next: max < 1 ? null : cursorOf(...last) };
      rows.push(row);
      last = [one.at, one.seq];
    }
    return { rows, next: first === undefined ? null : cursorOf(first.at, first.seq) };
  }

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
    page: async (query, max, past) => db.run('listing', () => page(query, max, past)),
    async purge(past, now) {
      const latest = Math.max(past.dead, past.ended); // for the index
      return db.transaction('purging', () => {
        const rows = removePast.run(past.dead, past.ended, latest, now).changes;
        return others.reduce((sum, other) => sum + other.purgeNow(now), Number(rows));
      });
    },
  };
}
