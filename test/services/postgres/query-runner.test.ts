/** Single statements over a pool: whose connection they use, and what becomes of it. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Pool } from '../../../local/backends/postgres/client.ts';
import { createQueryRunner } from '../../../local/backends/postgres/query-runner.ts';
import { keepBusy } from '../../kit/busy.ts';
import { until } from '../../kit/until.ts';
import { terminate } from './load.ts';
import { freshDatabase } from './schemas.ts';

const database = await freshDatabase();
let pool: pg.Pool;
let checkouts = 0;
let last: pg.PoolClient | null = null;

function open(options: pg.PoolConfig = {}, silenceMs = 30_000) {
  pool = new pg.Pool({ connectionString: database.url, ...options });
  checkouts = 0;
  pool.on('acquire', (client) => {
    checkouts++;
    last = client;
  });
  const runQuery = createQueryRunner(pool as unknown as Pool, silenceMs);
  return (text: string, ...values: unknown[]) => runQuery({ text, rowMode: 'array' }, values);
}

const backendOf = 'SELECT pg_backend_pid()';

afterEach(() => pool.end());
afterAll(async () => {
  await terminate(database.url); // the server is still at what nobody waits for
  await database.drop();
});

describe('statements that follow each other', () => {
  it('go on with one connection, which the pool has again a turn later', async () => {
    const ask = open();
    const [first] = await ask(backendOf);
    for (let i = 0; i < 9; i++) expect(await ask(backendOf)).toEqual([first]);
    expect({ checkouts, idle: pool.idleCount }).toEqual({ checkouts: 1, idle: 0 });
    await nextTurn();
    expect(pool.idleCount).toBe(1);
    expect(await ask('SELECT $1::int', 7)).toEqual([[7]]);
    expect(checkouts).toBe(2);
  });

  it('and come together use a connection each', async () => {
    const ask = open({ max: 3 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(backendOf)));
    expect(new Set(answers.map(([row]) => row![0])).size).toBe(3);
    await nextTurn();
    expect(pool.idleCount).toBe(3);
  });

  it('leave the connection to others who wait for one', async () => {
    const ask = open({ max: 1 });
    let asked = 0;
    let isHad = false;
    while (!isHad && asked < 50) {
      await ask(backendOf);
      if (++asked > 1) continue;
      void pool.connect().then((client) => {
        isHad = true;
        client.release();
      });
    }
    expect(asked).toBeLessThan(5);
  });

  it('show the connection to the pool now and then, which may want to replace it', async () => {
    const ask = open({ maxUses: 1 });
    const backends = new Set<unknown>();
    for (let i = 0; i < 250; i++) backends.add((await ask(backendOf))[0]![0]);
    expect(checkouts).toBe(3);
    expect(backends.size).toBe(3);
  });
});

describe('a connection', () => {
  it('that breaks between two statements is not used for the second', async () => {
    const ask = open();
    await ask(backendOf);
    const first = last!;
    first.emit('error', new Error('reset by peer'));
    await ask(backendOf);
    expect(last).not.toBe(first);
    await nextTurn();
    expect({ all: pool.totalCount, idle: pool.idleCount }).toEqual({ all: 1, idle: 1 });
  });

  it('survives a statement that the server refuses', async () => {
    const ask = open();
    await expect(ask('SELECT 1 / 0')).rejects.toThrow('division by zero');
    expect(await ask('SELECT 1')).toEqual([[1]]);
  });

  it('that cannot be had fails the statement', async () => {
    const ask = open({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    await expect(ask('SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a server that does not answer', () => {
  it('fails only the statement that waits too long, and its connection is closed', async () => {
    const ask = open({ max: 2 }, 2_000);
    await ask('SELECT 1');
    const slow = ask(`SELECT pg_sleep(60), 'slow'`);
    const quick = async () => {
      for (let asked = 0; asked < 25; asked++) await ask('SELECT pg_sleep(0.1)');
    };
    const [failed] = await Promise.allSettled([slow, quick()]);
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: { message: 'the server has not answered for 2000 ms' },
    });
    await until(() => pool.totalCount === 1);
    expect(await ask('SELECT 1')).toEqual([[1]]);
  });

  it('is not blamed for a process that was too busy to read', async () => {
    const ask = open({}, 500);
    await ask('SELECT 1');
    const answer = ask('SELECT 2');
    keepBusy(1_500);
    expect(await answer).toEqual([[2]]);
  });
});
