/** Steps in Postgres: schemas of the version before get them, and a purge is bounded. */

import { afterAll, describe, expect, it } from 'vitest';
import { postgres, postgresStore } from '../../../local/backends/postgres/index.ts';
import { migrations } from '../../../local/backends/postgres/schema.ts';
import { runSql } from './load.ts';
import { freshDatabase } from './schemas.ts';

const database = await freshDatabase();
afterAll(() => database.drop());

describe('steps in Postgres', () => {
  it('are added to a schema of the version before', async () => {
    const [schema, s] = ['old', '"old"'];
    await runSql(database.url, `CREATE SCHEMA ${s}; CREATE TABLE ${s}.longshore (version int NOT NULL)`);
    await runSql(database.url, `INSERT INTO ${s}.longshore VALUES (7)`);
    for (const step of migrations.slice(0, 7)) if (step(s)) await runSql(database.url, step(s));
    const backend = postgres({ url: database.url, schema });
    expect(await backend.migrate!()).toEqual({ from: 7, to: migrations.length });
    expect(await backend.stores!.steps!.write('job:a', '1', null, 1)).not.toBeNull();
    await backend.close();
  });

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
