/** Steps in Postgres: a purge is bounded. */

import { afterAll, describe, expect, it } from 'vitest';
import { postgresStore } from '../../../local/backends/postgres/index.ts';
import { runSql } from './load.ts';
import { freshDatabase } from './schemas.ts';

const database = await freshDatabase();
afterAll(() => database.drop());

describe('steps in Postgres', () => {
  it('are purged in steps', async () => {
    const store = postgresStore({ url: database.url, schema: 'many' });
    await store.migrate();
    await runSql(
      database.url,
      `INSERT INTO many.texts SELECT 'job:' || n, 'v', n, '1' FROM generate_series(1, 1500) n`,
    );
    const counts = [];
    for (let gone = 1; gone > 0; counts.push(gone)) gone = await store.records.purge();
    expect(counts).toEqual([1_000, 500, 0]);
    await store.close();
  });
});
