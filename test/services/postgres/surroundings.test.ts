/** What differs between databases and hosts, and must not matter: their clocks, and how transactions are isolated. */

import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import type { QueueStats } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import {
  connect,
  createApp,
  defineJob,
  defineSchedule,
  keyRing,
  startWorker,
  tick,
} from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type Database, freshDatabase } from './schemas.ts';

const look = { queues: ['default'], max: 10, leaseMs: 30_000, waitMs: 0 };

let database: Database;
let schemas = 0;
const newSchema = (): string => `s${++schemas}`;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

describe('a host whose clock differs from the database by an hour', () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('%s: delays, leases and keys are as long as they were asked for', async (_name, skewMs) => {
    const schema = newSchema();
    const right = postgres({ url: database.url, schema });
    await right.migrate!();
    const real = Date.now;
    // The clocks of app and backend are both the host's.
    vi.spyOn(systemClock, 'now').mockImplementation(() => real() + skewMs);
    const wrong = postgres({ url: database.url, schema });
    const inMs = (ms: number): number => systemClock.now() + ms;

    const sentAt = real();
    await wrong.enqueue([message({ id: 'now' }), message({ id: 'late', notBefore: inMs(600_000) })]);
    const wasSentAt = real();
    const askedAt = systemClock.now();
    const [first, ...more] = await wrong.fetch(look);
    expect([first!.body, more]).toEqual(['{}', []]);
    // By the clock of the host, which asked and was answered at these times; a ms may be lost in rounding.
    expect(first!.expiresAt).toBeGreaterThanOrEqual(askedAt + look.leaseMs - 1);
    expect(first!.expiresAt).toBeLessThanOrEqual(systemClock.now() + look.leaseMs + 1);
    await wrong.enqueue([message({ id: 'soon', notBefore: inMs(400) })]);
    expect(await wrong.fetch({ ...look, waitMs: 100_000 })).toHaveLength(1); // not an hour later
    expect(await wrong.fetch(look)).toEqual([]);
    expect(await wrong.renew([first!], 30_000)).toEqual([true]);
    expect(await wrong.reapExpired('default')).toBe(0);
    expect(await wrong.nack(first!, { delayMs: 200, countAttempt: true })).toBe(true);
    expect(await wrong.fetch({ ...look, waitMs: 100_000 })).toMatchObject([{ attempt: 2 }]);

    const [short] = await (async () => {
      await wrong.enqueue([message({ id: 'short' })]);
      return wrong.fetch({ ...look, leaseMs: 150 });
    })();
    await until(async () => (await wrong.reapExpired('default')) === 1);
    expect(await wrong.ack([{ lease: short! }])).toEqual([false]);

    const { keys } = wrong.stores!;
    const heldFrom = systemClock.now();
    expect(await keys!.claim('key', 'one', heldFrom + 600_000)).toMatchObject({ state: 'claimed' });
    const heldSince = systemClock.now();
    const other = await keys!.claim('key', 'two', inMs(600_000));
    expect(other.state).toBe('running');
    const spent = systemClock.now() - heldFrom; // what the calls took may be missing or be added
    expect((other as { until: number }).until).toBeGreaterThanOrEqual(heldFrom + 600_000 - spent - 1);
    expect((other as { until: number }).until).toBeLessThanOrEqual(heldSince + 600_000 + spent + 1);
    expect(await keys!.complete('key', 'one', { value: null, keepUntil: inMs(600_000) })).toBe(true);
    // Seen by a host whose clock is right, both the delayed message and the key have about ten minutes left.
    vi.restoreAllMocks();
    const delayed = (await right.admin!.peek('default', 9)).find(({ id }) => id === 'late')!;
    expect(delayed.readyAt).toBeGreaterThanOrEqual(sentAt + 600_000 - (wasSentAt - sentAt) - 1);
    expect(delayed.readyAt).toBeLessThanOrEqual(wasSentAt + 600_000 + 1);
    expect(await right.stores!.keys!.claim('key', 'three', systemClock.now() + 1_000)).toMatchObject({
      state: 'completed',
    });
    await right.close();
    await wrong.close();
  });

  it.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('%s: a worker runs what another host has sent, once', async (_name, skewMs) => {
    const schema = newSchema();
    const right = postgres({ url: database.url, schema });
    const runs: number[] = [];
    const job = defineJob({
      name: 'job',
      payload: z.object({ n: z.number() }),
      idempotencyKey: ({ n }) => `k${n}`,
      handle: async ({ n }) => void runs.push(n),
    });
    const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const real = Date.now;
    const client = connect(app, right);
    await client.enqueueMany(job, [{ n: 1 }, { n: 2 }, { n: 1 }]);
    vi.spyOn(systemClock, 'now').mockImplementation(() => real() + skewMs);
    const wrong = postgres({ url: database.url, schema });
    // One after the other: a key that is at work at the moment would be asked for again later.
    const worker = startWorker(app, { backend: wrong, concurrency: 1, untilIdle: true, leaseMs: 5_000 });
    expect((await worker.done).counts).toMatchObject({ acked: 2, 'skipped-idempotent': 1 });
    expect(runs.sort()).toEqual([1, 2]);
    await wrong.close();
    await right.close();
  });
});

describe.each([
  ['ahead', 3_600_000],
  ['behind', -3_600_000],
])('a host whose clock is an hour %s', (_name, skewMs) => {
  const real = Date.now;
  let schema: string;
  beforeAll(() => {
    schema = newSchema();
  });
  afterEach(() => vi.restoreAllMocks());
  const beWrong = () => vi.spyOn(systemClock, 'now').mockImplementation(() => real() + skewMs);
  const beRight = () => vi.restoreAllMocks();

  const runs: string[] = [];
  const parts = { payload: z.string(), handle: async (name: string) => void runs.push(name) };
  const job = defineJob({ name: 'job', ...parts });
  const urgent = defineJob({ name: 'urgent', expiresInMs: 60_000, ...parts });
  const minutely = defineSchedule({ name: 'minutely', everyMs: 60_000, job, payload: 'by schedule' });
  const app = createApp({
    jobs: [job, urgent],
    schedules: [minutely],
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  const work = (backend: QueueBackend) =>
    startWorker(app, { backend, untilIdle: true, leaseMs: 5_000 }).done.then(({ counts }) => counts);

  it('runs a delayed job of another host when it is due, and one that is to begin soon', async () => {
    const backend = postgres({ url: database.url, schema });
    const client = connect(app, backend);
    const { id } = await client.enqueue(job, 'delayed', { delayMs: 300 });
    await client.enqueue(urgent, 'soon');
    await until(async () => (await backend.admin!.stats('default'))[0]!.ready === 2);
    beWrong();
    expect(await work(backend)).toMatchObject({ acked: 2, requeued: 0, rejected: 0 });
    expect(await client.status(id)).toMatchObject({ status: 'completed' });
    await backend.close();
  });

  it('has its delayed jobs run by another host when they are due, also those of a transaction', async () => {
    const backend = postgres({ url: database.url, schema });
    await backend.migrate!();
    const client = connect(app, backend);
    const tx = new pg.Client(database.url);
    await tx.connect();
    beWrong();
    await tx.query('BEGIN');
    await client.enqueue(job, 'in a transaction', { delayMs: 300, tx });
    await tx.query('COMMIT');
    await client.enqueue(job, 'delayed', { delayMs: 300 });
    await client.enqueueMany(urgent, ['soon'], { delayMs: 300 });
    await client.enqueue(job, 'at a moment', { runAt: new Date(real() + 400) });
    await client.enqueue(job, 'at a moment', { runAt: new Date(real() + 3_000_000) });
    beRight();
    const [{ ready, delayed }] = (await backend.admin!.stats('default')) as [QueueStats];
    expect(ready + delayed).toBe(5);
    await until(async () => (await backend.admin!.stats('default'))[0]!.ready === 4);
    expect(await work(backend)).toMatchObject({ acked: 4, requeued: 0, rejected: 0 });
    expect(await backend.admin!.stats('default')).toMatchObject([{ ready: 0, delayed: 1 }]);
    expect(await backend.admin!.clear('default')).toBe(1);
    await tx.end();
    await backend.close();
  });

  it('enqueues a delayed job in a transaction that holds the only connection', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    const backend = postgres({ pool, schema, listen: false });
    const client = connect(app, backend);
    const tx = await pool.connect();
    await tx.query('BEGIN');
    beWrong();
    const outside = client.enqueue(job, 'outside', { delayMs: 600_000 }); // waits for the connection
    await client.enqueue(job, 'inside', { delayMs: 600_000, tx });
    await expect(client.enqueue(job, 'nowhere', { delayMs: 600_000, tx: 7 as never })).rejects.toThrow(
      /OPTION|tx to be/,
    );
    await tx.query('COMMIT');
    tx.release();
    await outside;
    beRight();
    expect(await backend.admin!.clear('default')).toBe(2);
    await backend.close();
    await pool.end();
  });

  it('serves no moment of a schedule before its time, and leaves none out', async () => {
    const backend = postgres({ url: database.url, schema });
    const client = connect(app, backend);
    const dueAt: number[] = [];
    const stop = app.events.on((event) => {
      if (event.type === 'schedule.enqueued') dueAt.push(event.dueAt);
    });
    await tick(app, client, real() - 120_000); // by a host that has served the schedule until then
    beWrong();
    await tick(app, client);
    beRight();
    await tick(app, client);
    stop();
    expect(dueAt.length).toBeGreaterThan(0);
    expect(Math.max(...dueAt)).toBeLessThanOrEqual(real());
    expect(Math.max(...dueAt)).toBeGreaterThan(real() - 120_000);
    await backend.close();
  });
});

it.each(['serializable', 'repeatable read'])(
  'transactions that are %s by default hold up nobody',
  async (level) => {
    const url = `${database.url}?options=${encodeURIComponent(`-c default_transaction_isolation=${level.replace(' ', '\\ ')}`)}`;
    const schema = newSchema();
    const backends = Array.from({ length: 4 }, () => postgres({ url, schema }));
    await Promise.all(backends.map((backend) => backend.migrate!()));
    await backends[0]!.enqueue(
      Array.from({ length: 400 }, (_, n) => message({ id: `m${n}`, body: String(n) })),
    );
    const taken: string[] = [];
    await Promise.all(
      backends.map(async (backend) => {
        for (;;) {
          const leases = await backend.fetch({ ...look, max: 5 });
          if (leases.length === 0 && taken.length === 400) return;
          expect(await backend.ack(leases.map((lease) => ({ lease })))).toEqual(leases.map(() => true));
          taken.push(...leases.map(({ body }) => body));
        }
      }),
    );
    expect(new Set(taken).size).toBe(400);
    for (const backend of backends) await backend.close();
  },
);
