/** How much the server reads for each call when there are a million jobs, with and without statistics about them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, uuidv7 } from '../../../core/base/clock.ts';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { message } from '../sqlite/messages.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { createExplainer, type Explainer, type Work } from './explain.ts';
import { lists } from './list-limits.ts';
import { runSql } from './load.ts';

const schema = 'longshore';
const day = 86_400_000;
/** In the queue that the calls are about; as many again are spread over ten others. */
const ready = 350_000;
const delayed = 300_000;
const history = 200_000;
const dead = 50_000;
const keys = 100_000;
const batches = 500;
const membersPerBatch = 100;

let cluster: Cluster;
let superuserUrl: string;
let explainer: Explainer;
let backend: Contract.QueueBackend;

beforeAll(async () => {
  // Nothing may learn about the tables by itself: the tests decide when there are statistics.
  cluster = await startCluster({ fsync: false, settings: { autovacuum: 'off', synchronous_commit: 'off' } });
  const own = new URL(cluster.superuserUrl);
  own.pathname = 'longshore';
  superuserUrl = own.href;
  explainer = createExplainer(superuserUrl);
  backend = postgres({ pool: explainer.pool });
}, 120_000);

afterAll(async () => {
  await backend.close();
  await explainer.pool.end();
  await cluster.remove();
});

/** `n` is the row's number, `now` the time: a row of `jobs`. */
const columns =
  'seq, turn, id, queue, job, tenant_id, priority, created_at, ready_at, rank, attempt, interrupted, cancel_requested, reports, body';
const jobRow = (id: string, queue: string, readyAt: string) =>
  `n, n, ${id}, ${queue}, 'job', NULL, 5, now, ${readyAt}, ${readyAt} + 5 * 3600000, 0, false, false, '', repeat('x', 200)`;

const clock = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) c';

async function load(): Promise<void> {
  const s = schema;
  const numbers = (from: number, count: number) =>
    `generate_series(${from}, ${from + count - 1}) n, ${clock}`;
  const queueOf = `CASE WHEN n <= ${ready} THEN 'default' ELSE 'queue' || n % 10 END`;
  await runSql(
    superuserUrl,
    `
    DELETE FROM ${s}.jobs; DELETE FROM ${s}.ready; DELETE FROM ${s}.delayed; DELETE FROM ${s}.leases;
    DELETE FROM ${s}.renewals; DELETE FROM ${s}.history; DELETE FROM ${s}.dead; DELETE FROM ${s}.keys;
    INSERT INTO ${s}.queues (name) SELECT 'default' UNION SELECT 'queue' || n FROM generate_series(0, 9) n ON CONFLICT DO NOTHING;
    WITH put AS (INSERT INTO ${s}.jobs (${columns})
      SELECT ${jobRow(`'a' || lpad(n::text, 9, '0')`, queueOf, 'now')} FROM ${numbers(1, 2 * ready)} RETURNING queue, rank, seq, ready_at, id)
    INSERT INTO ${s}.ready (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM put;
    WITH put AS (INSERT INTO ${s}.jobs (${columns})
      SELECT ${jobRow(`'d' || lpad(n::text, 9, '0')`, `'default'`, 'now + 3600000 + n')} FROM ${numbers(1_000_000, delayed)}
      RETURNING queue, rank, seq, ready_at, id)
    INSERT INTO ${s}.delayed (queue, rank, seq, ready_at, id) SELECT queue, rank, seq, ready_at, id FROM put;
    WITH put AS (INSERT INTO ${s}.jobs (${columns})
      SELECT ${jobRow(`'l' || lpad(n::text, 9, '0')`, `'default'`, 'now')} FROM ${numbers(2_000_000, batches * membersPerBatch)}
      RETURNING queue, turn, id)
    INSERT INTO ${s}.leases (claim, queue, claimed_at, until, ids, turns)
      SELECT 'claim' || (turn - 2000000) / ${membersPerBatch}, 'default', 0, 9e15::bigint, array_agg(id), array_agg(turn)
      FROM put GROUP BY 1;
    INSERT INTO ${s}.history (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, ended, finished_at)
      SELECT n, 'h' || lpad(n::text, 9, '0'), 'default', 'job', NULL, 5, 0, 0, 1, '', 2, now - (n % 5) * ${day}::bigint FROM ${numbers(3_000_000, history)};
    INSERT INTO ${s}.dead (seq, id, queue, job, tenant_id, priority, created_at, ready_at, attempt, reports, ended, finished_at, body)
      SELECT n, 'x' || lpad(n::text, 9, '0'), 'default', 'job', NULL, 5, 0, 0, 1, '', 3, now - n, '{}' FROM ${numbers(4_000_000, dead)};
    INSERT INTO ${s}.keys (key, hold_until, done, keep_until)
      SELECT 'key' || n, 0, true, now + ${day} + n FROM ${numbers(1, keys)};
    SELECT setval('${s}.turns', 10000000);`,
  );
}

const request = { queues: ['default'], max: 10, leaseMs: 60_000 };
const take = (queues = ['default'], max = 10) => backend.fetch({ ...request, queues, max, waitMs: 0 });
const report = { attempt: 1, startedAt: 1, endedAt: 2, outcome: 'acked', error: null, output: null } as const;

type Measure = (call: () => Promise<unknown>) => Promise<Work>;

interface Case {
  /** The most that it may read, and the most pages it may look at. */
  readonly rows: number;
  readonly pages: number;
  /** Tables that it reads from end to end. */
  readonly scans?: readonly string[];
  readonly run: (measure: Measure) => Promise<Work>;
}

let sent = 0;
const messages = (count: number, idOf: (n: number) => string) =>
  Array.from({ length: count }, () => message({ id: idOf(++sent), queue: 'fresh', body: '{}' }));
const records = () => backend.stores!.records!;
const keyStore = () => backend.stores!.keys!;
const inAMinute = () => Date.now() + 60_000;

/** Leases of our own that have ended. */
async function endLeases(): Promise<void> {
  await take(['default'], 5);
  await runSql(superuserUrl, `UPDATE ${schema}.leases SET until = 1 WHERE claimed_at > 0`);
}

const cases: Record<string, Case> = {
  'a fetch of one queue': { rows: 60, pages: 300, run: (measure) => measure(() => take()) },
  'a fetch of three queues': {
    rows: 100,
    pages: 400,
    run: (measure) => measure(() => take(['default', 'queue1', 'queue2'])),
  },
  'a fetch of a queue that is empty': {
    rows: 20,
    pages: 50,
    run: (measure) => measure(() => take(['empty'])),
  },
  'a fetch with acks': {
    rows: 100,
    pages: 500,
    async run(measure) {
      const leases = await take();
      return measure(() =>
        backend.hints!.ackAndFetch!(
          leases.map((lease) => ({ lease, report })),
          request,
        ),
      );
    },
  },
  'an ack of ten': {
    rows: 60,
    pages: 300,
    async run(measure) {
      const leases = await take();
      return measure(() => backend.ack(leases.map((lease) => ({ lease, report }))));
    },
  },
  'an ack of ten that were renewed and complete keys': {
    rows: 120,
    pages: 600,
    async run(measure) {
      const leases = await take();
      await backend.renew(leases, 60_000);
      const complete = { key: 'key2', owner: 'me', value: null, keepUntil: inAMinute() };
      await keyStore().claim('key2', 'me', inAMinute());
      return measure(() => backend.ack(leases.map((lease) => ({ lease, report, complete }))));
    },
  },
  'a nack': {
    rows: 20,
    pages: 100,
    async run(measure) {
      const [lease] = await take();
      return measure(() => backend.nack(lease!, { delayMs: 1_000, countAttempt: true, report }));
    },
  },
  'an abandonment': {
    rows: 20,
    pages: 100,
    async run(measure) {
      const [lease] = await take();
      return measure(() => backend.abandon(lease!, { reason: 'permanent', error: '', report }));
    },
  },
  'a renewal of ten': {
    rows: 80,
    pages: 400,
    async run(measure) {
      const leases = await take();
      await backend.renew(leases, 60_000);
      return measure(() => backend.renew(leases, 60_000));
    },
  },
  'a reaping that finds nothing': {
    rows: 5,
    pages: 50,
    run: (measure) => measure(() => backend.reapExpired('default')),
  },
  'a reaping': {
    rows: 200,
    pages: 1_000,
    async run(measure) {
      await backend.reapExpired('default');
      await endLeases();
      return measure(() => backend.reapExpired('default'));
    },
  },
  'an enqueue of a hundred': {
    rows: 20,
    pages: 5_000,
    run: (measure) => measure(() => backend.enqueue(messages(100, () => uuidv7(systemClock.now())))),
  },
  'an enqueue of a hundred with ids that say nothing': {
    rows: 20,
    pages: 6_000,
    run: (measure) => measure(() => backend.enqueue(messages(100, (n) => `own-${n}`))),
  },
  'an enqueue of copies': {
    rows: 40,
    pages: 200,
    run: (measure) =>
      measure(() => backend.enqueue(['a000000001', 'h003000001', 'x004000001'].map((id) => message({ id })))),
  },
  'a record of a waiting job': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().get('a000100000')),
  },
  'a record of a delayed job': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().get('d001100000')),
  },
  'a record of the history': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().get('h003100000')),
  },
  'a record of nothing': { rows: 10, pages: 100, run: (measure) => measure(() => records().get('nothing')) },
  progress: {
    rows: 10,
    pages: 60,
    async run(measure) {
      const id = `in progress ${++sent}`;
      await backend.enqueue([message({ id, queue: 'progress' })]);
      const [lease] = await take(['progress']);
      const step = { done: 1, total: 2, message: null, at: 0 };
      return measure(() => records().progress(id, lease!.token, step));
    },
  },
  'a cancelling of a waiting job': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().cancel(`a000${100_000 + ++sent}`)),
  },
  'a cancelling of a delayed job': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().cancel(`d001${100_000 + ++sent}`)),
  },
  'a cancelling of a job that has ended': {
    rows: 10,
    pages: 100,
    run: (measure) => measure(() => records().cancel('h003100000')),
  },
  'a look for cancelled jobs': {
    rows: 20,
    pages: 60,
    run: (measure) =>
      measure(() => records().cancelRequested(Array.from({ length: 10 }, (_, n) => `l00200000${n}`))),
  },
  'a purge that finds nothing': { rows: 50, pages: 500, run: (measure) => measure(() => records().purge()) },
  'a purge': {
    rows: 5_000,
    pages: 20_000,
    async run(measure) {
      await runSql(superuserUrl, `UPDATE ${schema}.keys SET keep_until = 1 WHERE key LIKE 'key99%'`);
      return measure(() => records().purge({ completedMs: 10 * day, deadMs: 30_000 }));
    },
  },
  'a key claimed, extended, completed and released': {
    rows: 10,
    pages: 100,
    run: (measure) =>
      measure(async () => {
        await keyStore().claim('key', 'me', inAMinute());
        await keyStore().extend('key', 'me', inAMinute());
        await keyStore().release('key', 'me');
        await keyStore().claim('key1', 'me', inAMinute());
      }),
  },
  'a peek': { rows: 100, pages: 500, run: (measure) => measure(() => backend.admin!.peek('default', 10)) },
  // Of all leased jobs, however many wait.
  'a list of running jobs': {
    rows: batches * membersPerBatch + 200,
    pages: batches * membersPerBatch * 12,
    scans: ['leases'],
    run: (measure) => measure(() => records().page({ status: 'processing', max: 10 })),
  },
  'a list of dead letters': {
    rows: 20,
    pages: 60,
    run: (measure) => measure(() => backend.admin!.deadLetters.list({ max: 10 })),
  },
  'a list of the dead letters of a queue': {
    rows: 20,
    pages: 60,
    run: (measure) => measure(() => backend.admin!.deadLetters.list({ queue: 'default', max: 10 })),
  },
  // A share of the tables is sampled, and counted up to 10,000 per queue.
  'a count of a queue': {
    rows: 250_000,
    pages: 130_000,
    run: (measure) => measure(() => backend.admin!.stats('default')),
  },
  ...Object.fromEntries(
    Object.entries(lists).map(([name, [filter, limits]]): [string, Case] => [
      `a list ${name}`,
      { ...limits, run: (measure) => measure(() => records().page!({ ...filter, max: 10 })) },
    ]),
  ),
};

async function reconnect(): Promise<void> {
  await backend.close();
  await explainer.pool.end();
  explainer = createExplainer(superuserUrl);
  backend = postgres({ pool: explainer.pool });
}

/** Without measuring, so that what a connection keeps is there when it is measured. */
const rehearse: Measure = async (call) => {
  await call();
  return { rows: 0, pages: 0, scanned: [], sorted: 0 };
};

describe.each([
  [
    'that came after nearly empty queues were planned for',
    async () => {
      await backend.stores!.migrate!();
      const daysAgo = `SELECT ${schema}.make_days(now - 5 * ${day}::bigint) FROM ${clock}`;
      await runSql(superuserUrl, daysAgo);
      await backend.enqueue(
        messages(200, (n) => `first-${n}`).map((each) => ({ ...each, queue: 'default' })),
      );
      for (const { run } of Object.values(cases)) await run(rehearse);
      await load();
    },
  ],
  ['that nobody has statistics about', reconnect],
  ['that have been analysed', () => runSql(superuserUrl, 'ANALYZE')],
] as const)('with a million jobs %s', (_name, begin) => {
  beforeAll(begin, 180_000); // a million rows, on a machine that may be busy

  it.each(Object.entries(cases))('%s reads little', (_case, each) => readsLittle(each));
});

describe('with a backlog that came after VACUUM had found only empty pages', () => {
  const backlog = 3_000;
  const hot = Object.entries(cases).filter(([name]) => /fetch|ack|abandon|renew|reaping/.test(name));

  beforeAll(async () => {
    const fill = async () => {
      const queueOf = (n: number) => (n % 3 === 0 ? `queue${1 + (n % 2)}` : 'default');
      const jobs = messages(backlog, (n) => `job-${n}`).map((job, n) => ({ ...job, queue: queueOf(n) }));
      await backend.enqueue(jobs);
      await runSql(
        superuserUrl,
        `INSERT INTO ${schema}.keys (key, hold_until, done, keep_until) SELECT 'other' || n, 0, true, 9e15
         FROM generate_series(1, ${backlog}) n`,
      );
    };
    await runSql(superuserUrl, `DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await reconnect();
    await fill();
    const leases = await take(['default', 'queue1', 'queue2'], backlog);
    await backend.renew(leases, 60_000);
    await backend.ack(leases.map((lease) => ({ lease, report })));
    // Pages stay too when another session holds the lock that truncating needs. Then pg_class says: no rows, on many pages.
    await runSql(superuserUrl, `DELETE FROM ${schema}.keys`);
    const tables = ['jobs', 'ready', 'delayed', 'leases', 'renewals', 'keys'];
    const names = tables.map((table) => `${schema}.${table}`).join(', ');
    await runSql(superuserUrl, `VACUUM (TRUNCATE false) ${names}`);
    await fill();
    await reconnect();
  }, 60_000);

  it.each(hot)('%s reads little', (_case, each) => readsLittle(each));
});

async function readsLittle({ rows, pages, scans = [], run }: Case): Promise<void> {
  await run(rehearse);
  const work = await run(explainer.during);
  expect(work.scanned).toEqual(scans);
  expect(work.rows).toBeLessThanOrEqual(rows);
  expect(work.sorted).toBeLessThanOrEqual(rows);
  expect(work.pages).toBeLessThanOrEqual(pages);
}
