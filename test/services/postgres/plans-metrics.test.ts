/** How much the server reads for numbers when there are a million rows, with and without statistics about them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createExplainer, type Explainer } from './explain.ts';
import { runSql } from './load.ts';

const minute = 60_000;
const minutes = 2_000;
/** Of each minute: a hundred jobs on five workers. */
const rowsPerMinute = 500;
/** In the middle of them. */
const hour = { step: 'minute', from: 1_000 * minute, to: 1_060 * minute } as const;

let cluster: Cluster;
let superuserUrl: string;
let explainer: Explainer;
let backend: Contract.QueueBackend;
const numbers = () => backend.stores!.metrics!;

beforeAll(async () => {
  // Nothing may learn about the table by itself: the tests decide when there are statistics.
  cluster = await startCluster({ fsync: false, settings: { autovacuum: 'off', synchronous_commit: 'off' } });
  const own = new URL(cluster.superuserUrl);
  own.pathname = 'longshore';
  superuserUrl = own.href;
  explainer = createExplainer(superuserUrl);
  backend = postgres({ pool: explainer.pool });
  await numbers().read(hour); // of an empty table: a plan that is kept would be one for that
  await runSql(
    superuserUrl,
    `INSERT INTO longshore.metrics (step, at, queue, job, source, body)
     SELECT 'minute', (m + 1) * ${minute}::bigint, 'queue' || n % 10, 'job' || n % 100, 'worker' || n / 100, repeat('x', 100)
     FROM generate_series(0, ${minutes - 1}) m, generate_series(0, ${rowsPerMinute - 1}) n`,
  );
}, 180_000);

afterAll(async () => {
  await backend.close();
  await explainer.pool.end();
  await cluster.remove();
});

interface Case {
  /** The most that it may read, and the most pages it may look at. */
  readonly rows: number;
  readonly pages: number;
  run(): Promise<unknown>;
}

let written = 0;
const cases: Record<string, Case> = {
  'a job for an hour': {
    rows: 60 * 5,
    pages: 1_500,
    run: () => numbers().read({ ...hour, queue: 'queue7', job: 'job17' }),
  },
  'a job that has none': {
    rows: 0,
    pages: 600,
    run: () => numbers().read({ ...hour, queue: 'queue7', job: 'nothing' }),
  },
  'all jobs for an hour': {
    rows: 60 * rowsPerMinute,
    pages: 3_000,
    run: () => numbers().read(hour),
  },
  'a step that nobody has counted': {
    rows: 0,
    pages: 20,
    run: () => numbers().read({ ...hour, step: 'hour' }),
  },
  'a write of a hundred rows over others': {
    rows: 100,
    pages: 2_000,
    run: () =>
      numbers().write(
        Array.from({ length: 100 }, (_, n) => ({
          step: 'minute',
          at: minutes * minute,
          queue: `queue${n % 10}`,
          job: `job${n}`,
          source: 'worker1',
          body: `${++written}`,
        })),
      ),
  },
  'a purge that finds nothing': { rows: 0, pages: 20, run: () => numbers().purge('minute', 1) },
  'a purge': { rows: 2_000, pages: 8_000, run: () => numbers().purge('minute', 20 * minute) },
};

it('rows that are written over hundreds of times take the room of a few, also without VACUUM', async () => {
  const own = postgres({ url: superuserUrl, schema: 'swelling' });
  const size = async () => {
    const sql = `SELECT pg_relation_size('swelling.metrics') AS heap, pg_indexes_size('swelling.metrics') AS indexes`;
    const [row] = await runSql<{ heap: string; indexes: string }>(superuserUrl, sql);
    return { heap: Number(row!.heap), indexes: Number(row!.indexes) };
  };
  const write = (version: number) =>
    own.stores!.metrics!.write(
      Array.from({ length: 100 }, (_, n) => ({
        step: 'minute',
        at: minute,
        queue: 'mail',
        job: `job${n}`,
        source: 'worker1',
        body: `${version}${'x'.repeat(500)}`,
      })),
    );
  await write(0);
  const before = await size();
  for (let version = 1; version <= 300; version++) await write(version);
  const after = await size();
  expect(after.heap).toBeLessThan(before.heap * 3);
  expect(after.indexes).toBeLessThan(before.indexes * 3);
  await own.close();
});

describe.each([
  ['that nobody has statistics about', async () => {}],
  ['that have been analysed', () => runSql(superuserUrl, 'ANALYZE')],
] as const)('with a million rows %s', (_name, begin) => {
  beforeAll(begin, 60_000);

  it.each(Object.entries(cases))('%s reads little', async (_case, { rows, pages, run }) => {
    const work = await explainer.during(run);
    expect(work.scanned).toEqual([]);
    expect(work.rows).toBeLessThanOrEqual(rows);
    expect(work.sorted).toBeLessThanOrEqual(rows);
    expect(work.pages).toBeGreaterThan(0);
    expect(work.pages).toBeLessThanOrEqual(pages);
  });
});
