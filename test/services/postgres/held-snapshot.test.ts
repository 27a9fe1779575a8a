/** Fetches while a client holds a snapshot open, so that the server keeps the rows of all jobs that have gone since. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { median } from '../../bench/kit/bench.ts';
import { message } from '../sqlite/messages.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createExplainer, type Explainer } from './explain.ts';
import { runSql } from './load.ts';

const gone = 30_000;
/** A scan from the start looks at thousands. */
const pagesOfLanes = 40;

let cluster: Cluster;
let url: string;
let explainer: Explainer;
let backend: ReturnType<typeof postgres>;
let holder: pg.Client;
/** Fetches, and how many pages each looked at before. */
const cases = {
  'one queue': { queues: ['default'], change: {}, before: 0 },
  'an urgent job': { queues: ['default'], change: { priority: 0 }, before: 0 },
  'two queues': { queues: ['default', 'beside'], change: {}, before: 0 },
  'a group': { queues: ['grouped'], change: { group: 'h' }, before: 0 },
};

const request = { max: 10, leaseMs: 600_000 };
const enqueue = (count: number, change: Partial<Contract.OutgoingMessage> = {}) =>
  backend.enqueue(
    // Jobs of all priorities lie beside each other in the table, but not in the index.
    Array.from({ length: count }, (_, n) =>
      message({ id: uuidv7(systemClock.now()), ...(count > 1 && { priority: n % 10 }), ...change }),
    ),
  );
/** Waits for up to 4 s for a job. */
const take = (queues: readonly string[], waitMs = 4_000) => backend.fetch({ ...request, queues, waitMs });
const ack = (leases: readonly Contract.JobLease[]) => backend.ack(leases.map((lease) => ({ lease })));

/** Enqueues, fetches and acks one job, twenty times. The median of the pages that each fetch has looked at. */
async function pagesOfFetch(queues: readonly string[], change: Partial<Contract.OutgoingMessage> = {}) {
  const pages: number[] = [];
  for (let n = 0; n < 20; n++) {
    await enqueue(1, { queue: queues[0]!, ...change });
    let leases: readonly Contract.JobLease[] = [];
    const work = await explainer.during(async () => {
      leases = await take(queues, 0);
    });
    pages.push(work.pages);
    if (leases.length > 0) await ack(leases);
  }
  return median(pages);
}

async function leave(count: number, change: Partial<Contract.OutgoingMessage>): Promise<void> {
  for (let sent = 0; sent < count; sent += 1_000) {
    await enqueue(1_000, change);
    await ack(await backend.fetch({ ...request, queues: [change.queue!], max: 1_000, waitMs: 0 }));
  }
}

beforeAll(async () => {
  cluster = await startCluster({ fsync: false, settings: { autovacuum: 'off', synchronous_commit: 'off' } });
  const own = new URL(cluster.superuserUrl);
  own.pathname = 'longshore';
  url = own.href;
  explainer = createExplainer(url);
  backend = postgres({ pool: explainer.pool, listen: false, pollMs: 50 });
  for (const one of Object.values(cases)) one.before = await pagesOfFetch(one.queues, one.change);
  holder = new pg.Client(url);
  await holder.connect();
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await holder.query('SELECT txid_current()');
  await leave(gone, { queue: 'default' });
  await leave(3_000, { queue: 'beside' });
  await leave(1_000, { queue: 'grouped', group: 'g' });
}, 120_000);

afterAll(async () => {
  await holder.end();
  await backend.close();
  await explainer.pool.end();
  await cluster.remove();
});

describe('After many jobs have gone under a held snapshot', () => {
  it.each(Object.entries(cases))('a fetch of %s looks at a few pages more than before', async (_, one) => {
    const pages = await pagesOfFetch(one.queues, one.change);
    expect(pages).toBeLessThan(one.before + pagesOfLanes * one.queues.length);
  });

  it('a look below the floor reads each page once', async () => {
    const size = `pg_relation_size('longshore.ready') + pg_relation_size('longshore.ready_rank')`;
    const [total] = await runSql(url, `SELECT (${size})::int / 8192 AS pages`);
    const look = `SELECT longshore.waits_below('{default}', $1, 3600000, ARRAY[9e18, $1, 1]::bigint[]) AS found`;
    const { pages } = await explainer.during(async () => {
      expect((await explainer.pool.query(look, [Date.now()])).rows).toEqual([{ found: false }]);
    });
    expect(pages).toBeGreaterThan(gone / 200);
    expect(pages).toBeLessThan((total as { pages: number }).pages + 20);
  });
});

describe('A job that lands below the floor of a fetch is found soon', () => {
  /** The floor is in use and says that nothing is there. */
  async function settle(): Promise<void> {
    expect(await take(['default'], 0)).toEqual([]);
    expect(await take(['default'], 0)).toEqual([]);
  }

  async function found(arrive: () => Promise<unknown>): Promise<void> {
    await settle();
    await arrive();
    const leases = await take(['default']);
    expect(leases).toHaveLength(1);
    await ack(leases);
  }

  it('after its transaction was open for long', async () => {
    const client = new pg.Client(url);
    await client.connect();
    await client.query('BEGIN');
    const late = message({ id: 'late', queue: 'default' });
    await client.query(
      `INSERT INTO longshore.jobs (seq, turn, id, queue, job, priority, created_at, ready_at, rank, attempt, interrupted,
      cancel_requested, reports, body) VALUES (1, 1, 'late', 'default', 'job', 5, 1, 1, 1, 0, false, false, '', $1)`,
      [late.body],
    );
    await client.query(
      `INSERT INTO longshore.ready (queue, rank, seq, ready_at, id) VALUES ('default', 1, 1, 1, 'late')`,
    );
    await found(() => client.query('COMMIT'));
    await client.end();
  });

  it('after it was delayed and a change brings it forward', async () => {
    await enqueue(1, { queue: 'default', id: 'delayed', notBefore: Date.now() + 60_000 });
    await found(() => backend.pending!.change([{ queue: 'default', id: 'delayed' }], { notBefore: 0 }));
  });

  it('after its queue was paused', async () => {
    await backend.admin!.setPaused('default', true);
    await enqueue(1, { queue: 'default' });
    await settle();
    await found(() => backend.admin!.setPaused('default', false));
  });

  it('after it was nacked', async () => {
    await enqueue(1, { queue: 'default' });
    const [lease] = await take(['default']);
    const report = {
      attempt: 1,
      startedAt: 1,
      endedAt: 2,
      outcome: 'nacked',
      error: null,
      output: null,
    } as const;
    await found(() => backend.nack(lease!, { delayMs: 0, countAttempt: true, report } as never));
  });

  it('when a delayed job is due', () =>
    found(() => enqueue(1, { queue: 'default', notBefore: Date.now() + 300 })));
});
