/** Steps in a SQLite file: a purge is bounded. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('steps in a SQLite file', () => {
  it('go with the file, for the queue and the store in it', async () => {
    const both = join(folder, 'both.db');
    const [backend, store] = [sqlite(both), sqliteStore(both)];
    await backend.stores!.steps!.write('job:a', '1', null, Date.now() + 60_000);
    expect(await store.steps!.read('job:a')).toMatchObject({ text: '1' });
    await backend.close();
    await store.close();
  });

  it('are purged in steps, by an index', async () => {
    const path = join(folder, 'many.db');
    const store = sqliteStore(path);
    const db = new DatabaseSync(path);
    db.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
      INSERT INTO texts SELECT 'job:' || n, 'v', n, '1' FROM n`);
    const plan = db
      .prepare('EXPLAIN QUERY PLAN SELECT rowid FROM texts WHERE ends_at <= ? LIMIT 1000')
      .all(1);
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringContaining('INDEX texts_ends_at')]);
    db.close();
    const counts = [];
    for (let gone = 1; gone > 0; counts.push(gone)) gone = await store.records.purge();
    expect(counts).toEqual([1_000, 1_000, 500, 0]);
    await store.close();
  });
});
