/** How much the server reads for a few jobs when the rows of many that had a group are gone, and no vacuum has been there since. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { message } from '../sqlite/messages.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createExplainer, type Explainer } from './explain.ts';
import { runSql } from './load.ts';

const gone = 20_000;
const groups = 20;
/** Of a few pages for each job and index that is written. A way that steps over what is gone looks at hundreds more. */
const most = { rows: 100, pages: 500 };

let cluster: Cluster;
let superuserUrl: string;
let explainer: Explainer;
let backend: Contract.QueueBackend;

const enqueue = (count: number, change: (n: number) => Partial<Contract.OutgoingMessage>) =>
  backend.enqueue(
    Array.from({ length: count }, (_, n) => message({ id: uuidv7(systemClock.now()), ...change(n) })),
  );
const take = (queue: string, max: number) =>
  backend.fetch({ queues: [queue], max, leaseMs: 60_000, waitMs: 0 });
const ack = (leases: readonly Contract.JobLease[]) => backend.ack(leases.map((lease) => ({ lease })));

beforeAll(async () => {
  cluster = await startCluster({ fsync: false, settings: { autovacuum: 'off', synchronous_commit: 'off' } });
  const own = new URL(cluster.superuserUrl);
  own.pathname = 'longshore';
  superuserUrl = own.href;
  explainer = createExplainer(superuserUrl);
  backend = postgres({ pool: explainer.pool });
  for (let sent = 0; sent < gone; sent += 1_000)
    await enqueue(1_000, (n) => ({ queue: 'cleared', group: `g${n % groups}` }));
  await ack(await take('cleared', 1_000));
  expect(await backend.admin!.clear('cleared')).toBe(gone - 1_000);
}, 120_000);

afterAll(async () => {
  await backend.close();
  await explainer.pool.end();
  await cluster.remove();
});

describe.each([
  ['jobs without a group', 'beside', () => ({})],
  ['jobs of groups', 'beside', (n: number) => ({ group: `h${n % 5}` })],
  ['jobs without a group in the same queue', 'cleared', () => ({})],
  ['jobs of other groups in the same queue', 'cleared', (n: number) => ({ group: `h${n % 5}` })],
  ['jobs of a group alone in the same queue', 'cleared', () => ({ group: 'alone' })],
])('Ten %s, after many with a group were cleared,', (_, queue, change) => {
  it('are enqueued, fetched and acked without reading what is gone', async () => {
    let leases: readonly Contract.JobLease[] = [];
    const pass = async () => {
      const enqueued = await explainer.during(() => enqueue(10, (n) => ({ queue, ...change(n) })));
      const fetched = await explainer.during(async () => {
        leases = await take(queue, 10);
      });
      const acked = await explainer.during(() => ack(leases));
      expect(leases).toHaveLength(10);
      return { enqueued, fetched, acked };
    };
    await pass(); // plans are made
    for (const [step, { rows, pages }] of Object.entries(await pass())) {
      expect.soft(rows, `rows read when ${step}`).toBeLessThan(most.rows);
      expect.soft(pages, `pages looked at when ${step}`).toBeLessThan(most.pages);
    }
  });
});

describe.each(['ANALYZE', 'VACUUM ANALYZE'])(
  'After an %s of tables from which all were cleared',
  (upkeep) => {
    it('a thousand jobs of groups are enqueued, and leased, by looking each up', async () => {
      await runSql(superuserUrl, upkeep);
      // A connection that has no plans yet, and makes them for empty tables.
      const fresh = createExplainer(superuserUrl);
      const own = postgres({ pool: fresh.pool });
      const messages = Array.from({ length: 1_000 }, (_, n) =>
        message({ id: uuidv7(systemClock.now()), queue: 'analyzed', group: `g${n % groups}` }),
      );
      const enqueued = await fresh.during(() => own.enqueue(messages));
      expect(enqueued.rows).toBeLessThan(6_000);
      expect(enqueued.pages).toBeLessThan(60_000);
      const leases: Contract.JobLease[] = [];
      const fetched = await fresh.during(async () => {
        leases.push(...(await own.fetch({ queues: ['analyzed'], max: 100, leaseMs: 60_000, waitMs: 0 })));
      });
      expect(fetched.rows).toBeLessThan(1_000);
      const acked = await fresh.during(() => own.ack(leases.map((lease) => ({ lease }))));
      expect(acked.rows).toBeLessThan(1_000);
      expect(await own.admin!.clear('analyzed')).toBe(900);
      await own.close();
      await fresh.pool.end();
    });
  },
);
