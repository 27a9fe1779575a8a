/** Single connections that are lost, and pools that have none to spare. */

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { systemClock } from '../../../core/base/clock.ts';
import { connect, createApp, defineJob, fixed, keyRing, startWorker } from '../../../core/index.ts';
import { openDatabase } from '../../../local/backends/postgres/database.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { channelOf, createListener } from '../../../local/backends/postgres/listen.ts';
import { createWaiters } from '../../../local/backends/shared/waiters.ts';
import { keepBusy } from '../../kit/busy.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { runSql, terminate } from './load.ts';
import { type Database, freshDatabase } from './schemas.ts';

let database: Database;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

const wait = { queues: ['default'], max: 1, leaseMs: 10_000, waitMs: 3_600_000 };

async function listening(url: string): Promise<number> {
  const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`;
  return (await runSql(url, sql)).length;
}

describe('the connection that listens', () => {
  it('is replaced when the server ends it, and what was sent meanwhile is found', async () => {
    const { url } = database;
    // Polled so seldom that only a notification can be why a message is found.
    const [waiter, sender] = [postgres({ url, pollMs: 3_600_000 }), postgres({ url })];
    const first = waiter.fetch(wait);
    await until(async () => (await listening(url)) === 1);
    expect(await terminate(url, 'LISTEN%')).toBe(1);
    await sender.enqueue([message({ id: 'while deaf' })]);
    expect(await first).toHaveLength(1);

    await until(async () => (await listening(url)) === 1);
    const second = waiter.fetch(wait);
    await sender.enqueue([message({ id: 'afterwards' })]);
    expect(await second).toHaveLength(1);
    await waiter.close();
    await sender.close();
  });

  it('is replaced when the network swallows all that it carries', async () => {
    const proxy = await startProxy(database.url);
    const db = openDatabase({ url: proxy.url, schema: 'longshore', migrate: true });
    const waiters = createWaiters(systemClock);
    const times = { retry: 50, echo: 300, firstEcho: 300, beat: 100, longestRetry: 50 };
    const listener = createListener(db, channelOf('longshore'), waiters, times);
    listener.start();
    await until(() => listener.hears);
    expect(proxy.silence('LISTEN')).toBe(1);
    await until(() => !listener.hears);
    await until(() => listener.hears);
    const wakes = waiters.wakes();
    await runSql(database.url, `SELECT pg_notify($1, 'default')`, [channelOf('longshore')]);
    await until(() => waiters.wakes() > wakes);
    await listener.close();
    await proxy.close();
    await db.close();
  });

  it('is not given up because the process was too busy to listen', async () => {
    const db = openDatabase({ url: database.url, schema: 'longshore', migrate: true });
    let beats = 0;
    // After every other check a handler computes for longer than the answer may take.
    async function connectBusy() {
      const client = await db.pool.connect();
      const query = client.query.bind(client) as (...call: unknown[]) => Promise<never>;
      return Object.assign(client, {
        query(...call: unknown[]) {
          const answer = query(...call);
          if (beats++ % 2 === 0) setImmediate(keepBusy, 60);
          return answer;
        },
      });
    }
    const busy = { ...db, pool: { ...db.pool, connect: connectBusy } };
    const times = { retry: 3_600_000, echo: 40, firstEcho: 40, beat: 1, longestRetry: 3_600_000 };
    const listener = createListener(busy, channelOf('longshore'), createWaiters(systemClock), times);
    listener.start();
    await until(() => beats >= 40); // a connection that was given up would send no more
    expect(listener.hears).toBe(true);
    await listener.close();
    await db.close();
  });
});

describe('a migration whose connection is lost fails as any statement does, and the next one succeeds', () => {
  const waiting = 'pg_advisory_xact_lock(hashtextextended($1';
  const proxied = () => startProxy(database.url);
  type Proxied = Awaited<ReturnType<typeof proxied>>;

  it.each<[how: string, lose: (proxy: Proxied) => Promise<number>]>([
    ['ended by the server', () => terminate(database.url, `%${waiting}%`)],
    ['broken by the network', async (proxy) => proxy.cut(waiting)],
  ])('%s', async (_how, lose) => {
    const proxy = await proxied();
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT pg_advisory_xact_lock(hashtextextended('longshore "longshore"', 0))`);
    const backend = postgres(proxy.url);
    const failing = backend.migrate!().catch((error: unknown) => error);
    const blocked = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await until(async () => (await runSql(database.url, blocked)).length === 1);
    expect(await lose(proxy)).toBe(1);
    expect(await failing).toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(/during migrating/),
    });
    await holder.end();
    expect(await backend.migrate!()).toMatchObject({ from: null });
    await backend.close();
    await proxy.close();
  });
});

describe('a pool of the user with few connections', () => {
  const work = defineJob({
    name: 'work',
    payload: z.object({ n: z.number() }),
    transaction: true,
    maxRetries: 5,
    retry: fixed(50),
    timeoutMs: 10_000,
    async handle({ n }, { tx }) {
      await tx.query('INSERT INTO effects VALUES ($1)', [n]);
      await delay(5);
    },
  });

  it.each([1, 2, 3, 4])('of %i runs jobs that have transactions, and listens if it can', async (max) => {
    const { url } = database;
    await runSql(url, 'CREATE TABLE effects (n int PRIMARY KEY)');
    const pool = new pg.Pool({ connectionString: url, max });
    const backend = postgres({ pool });
    const app = createApp({ jobs: [work], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const failures: unknown[] = [];
    app.events.on((event) => {
      if (event.type === 'backend.failed') failures.push(event);
    });
    const worker = startWorker(app, { backend, concurrency: 10 });
    const client = connect(app, backend);
    await client.enqueueMany(
      work,
      Array.from({ length: 50 }, (_, n) => ({ n })),
    );
    await until(async () => (await runSql(url, 'SELECT FROM effects')).length === 50);
    if (max >= 3) await until(async () => (await listening(url)) === 1);
    expect(await listening(url)).toBe(max >= 3 ? 1 : 0);
    expect((await worker.stop()).counts).toMatchObject({ acked: 50 });
    expect(failures).toEqual([]);
    expect(pool.waitingCount).toBe(0);
    await backend.close();
    await pool.end();
  });
});

it('transactions of jobs leave connections for renewing their leases', async () => {
  const backend = postgres(database.url); // a pool of 10
  const slow = defineJob({
    name: 'slow',
    payload: z.object({}),
    transaction: true,
    handle: async () => delay(1_500).then(() => {}),
  });
  const app = createApp({ jobs: [slow], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const client = connect(app, backend);
  const ids = await client.enqueueMany(
    slow,
    Array.from({ length: 16 }, () => ({})),
  );
  const worker = startWorker(app, { backend, concurrency: 16, leaseMs: 1_000, untilIdle: true });
  expect((await worker.done).counts).toMatchObject({ acked: 16 });
  for (const { id } of ids) expect((await client.status(id))!.attempts).toHaveLength(1);
  await backend.close();
});

it('a transaction that the server ends, because its handler idles in it, leaves nothing and comes back', async () => {
  const { url } = database;
  await runSql(url, 'CREATE TABLE effects (attempt int PRIMARY KEY)');
  const backend = postgres(
    `${url}?options=${encodeURIComponent('-c idle_in_transaction_session_timeout=100')}`,
  );
  const idling = defineJob({
    name: 'idling',
    payload: z.object({}),
    transaction: true,
    retry: fixed(10),
    async handle(_payload, { tx, attempt }) {
      await tx.query('INSERT INTO effects VALUES ($1)', [attempt]);
      if (attempt === 1) await delay(400);
    },
  });
  const app = createApp({ jobs: [idling], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const errors: (string | null)[] = [];
  app.events.on((event) => {
    if (event.type === 'job.settled' && event.outcome === 'requeued') errors.push(event.error);
  });
  const client = connect(app, backend);
  const { id } = await client.enqueue(idling, {});
  const worker = startWorker(app, { backend, leaseMs: 1_000 });
  await until(async () => (await client.status(id))?.status === 'completed');
  expect(await runSql(url, 'SELECT attempt FROM effects')).toEqual([{ attempt: 2 }]);
  expect(errors).toEqual([
    expect.stringMatching(/rolled back: .*idle-in-transaction timeout.*Make the handler faster/),
  ]);
  await worker.stop();
  await backend.close();
});
