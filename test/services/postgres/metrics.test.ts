/** Numbers in a table that many workers write over all the time. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { MetricRow, MetricStore } from '../../../core/contract/derived/metrics.ts';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { runSql } from './load.ts';
import { type Database, freshDatabase } from './schemas.ts';

let database: Database;
let backend: Contract.QueueBackend;
let numbers: MetricStore;

beforeAll(async () => {
  database = await freshDatabase();
  backend = postgres(database.url);
  await backend.stores!.migrate!();
  numbers = backend.stores!.metrics!;
});
afterAll(async () => {
  await backend.close();
  await database.drop();
});

const rows = (count: number, version: number, source = 'worker-1'): MetricRow[] =>
  Array.from({ length: count }, (_, n) => ({
    step: 'minute',
    at: 60_000,
    queue: 'mail',
    job: `job-${n}`,
    source,
    body: JSON.stringify({ version, buckets: 'x'.repeat(500) }),
  }));

it('many that write the same rows in different orders do not deadlock', async () => {
  const deadlocks = async () => {
    const sql = `SELECT pg_stat_force_next_flush()`;
    await runSql(database.url, sql).catch(() => {}); // Postgres 15 and later
    const [row] = await runSql<{ deadlocks: string }>(
      database.url,
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(row!.deadlocks);
  };
  const before = await deadlocks();
  const writers = Array.from({ length: 40 }, (_, n) => {
    const turned = rows(300, n, '');
    return numbers.write(n % 2 === 0 ? turned : turned.reverse());
  });
  await Promise.all(writers);
  expect(await deadlocks()).toBe(before);
});

it('a row that says what it said before is not written again', async () => {
  const versions = () =>
    runSql(database.url, `SELECT ctid::text FROM longshore.metrics WHERE source = 'worker-2' ORDER BY job`);
  await numbers.write(rows(3, 1, 'worker-2'));
  const before = await versions();
  await numbers.write(rows(3, 1, 'worker-2'));
  expect(await versions()).toEqual(before);
});
