/** How much the server reads for limits when there are many keys, and many jobs that wait for one of them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createExplainer, type Explainer } from './explain.ts';
import { runSql } from './load.ts';

let cluster: Cluster;
let superuserUrl: string;
let explainer: Explainer;
let backend: Contract.QueueBackend;
const limits = () => backend.stores!.limits!;

const ask = (key: string, holder: string, rank = 0): Contract.SlotRequest => ({
  ...{ key, holder, rank, limit: 1, owner: 'o', holdMs: 3_600_000, queue: 'mail' },
});
const batch = Array.from({ length: 50 }, (_, n) => ask(`free:${n}`, `job ${n}`));

beforeAll(async () => {
  // Nothing may learn about the tables by itself: the tests decide when there are statistics.
  cluster = await startCluster({ fsync: false, settings: { autovacuum: 'off', synchronous_commit: 'off' } });
  const own = new URL(cluster.superuserUrl);
  own.pathname = 'longshore';
  superuserUrl = own.href;
  explainer = createExplainer(superuserUrl);
  backend = postgres({ pool: explainer.pool });
  // With empty tables: plans that are kept are plans for these.
  await limits().take(batch);
  await limits().extend(batch, 3_600_000);
  await limits().free(batch);
  await limits().wake('crowd', 1);
  await limits().list({});
  await limits().take([ask('crowd', 'runs')]);
  await limits().take([ask('crowd', 'waits', -1)]);
  await runSql(
    superuserUrl,
    `INSERT INTO longshore.limit_slots SELECT 'key:' || n, 'job', 'o', 1, until FROM longshore.limit_slots, generate_series(1, 10000) n`,
  );
  await runSql(
    superuserUrl,
    `INSERT INTO longshore.limit_waiters
     SELECT 'waits ' || n, key, queue, n, most, until FROM longshore.limit_waiters, generate_series(1, 100000) n`,
  );
}, 180_000);

afterAll(async () => {
  await backend.close();
  await explainer.pool.end();
  await cluster.remove();
});

/** The most that a call may read. */
interface Most {
  readonly rows: number;
  readonly pages: number;
}

const cases: Record<string, Most & { run(): Promise<unknown> }> = {
  'fifty slots of fifty keys': { rows: 300, pages: 1_500, run: () => limits().take(batch) },
  'a longer hold of these': { rows: 300, pages: 2_500, run: () => limits().extend(batch, 3_600_000) },
  'fifty slots that are given back': { rows: 300, pages: 1_500, run: () => limits().free(batch) },
  'a job that comes last': {
    rows: 1_100,
    pages: 3_000,
    run: () => limits().take([ask('crowd', 'last', 1e9)]),
  },
  'fifty that come last': {
    rows: 1_500,
    pages: 5_000,
    run: () => limits().take(batch.map(({ holder }, n) => ask('crowd', holder, 2e9 + n))),
  },
  'a job that comes first': { rows: 50, pages: 200, run: () => limits().take([ask('crowd', 'first', -9)]) },
  'a slot that is given back, and who comes next': {
    rows: 50,
    pages: 300,
    run: async () => {
      await limits().free([ask('crowd', 'runs')]);
      await limits().take([ask('crowd', 'runs')]);
    },
  },
  'what a job waits for': { rows: 10, pages: 50, run: () => limits().waitsFor(['waits 5']) },
  'a page of a list': { rows: 500, pages: 3_000, run: () => limits().list({ prefix: 'key:', max: 50 }) },
};

describe.each(['without statistics', 'with statistics'])('limits, %s', (when) => {
  beforeAll(async () => {
    if (when === 'with statistics') await runSql(superuserUrl, 'VACUUM ANALYZE');
  });

  it.each(Object.keys(cases))('read no more than they must: %s', async (name) => {
    const { rows, pages, run } = cases[name]!;
    const work = await explainer.during(run);
    expect(work.scanned).toEqual([]);
    expect(work.rows, JSON.stringify(work)).toBeLessThanOrEqual(rows);
    expect(work.pages, JSON.stringify(work)).toBeLessThanOrEqual(pages);
  });

  it('remove a step of what has ended by an index', async () => {
    const work = await explainer.during(() => backend.stores!.records.purge());
    expect(work.scanned).toEqual([]);
    expect(work.rows).toBeLessThanOrEqual(100);
  });
});
