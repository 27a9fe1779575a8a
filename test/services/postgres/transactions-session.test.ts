/** What a handler changes in the session of `ctx.tx` ends with its transaction: the next one on the connection knows nothing of it. */

import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { connect, createApp, defineJob, keyRing, noRetry, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { anything, createStage } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

const advisoryLocks = async () =>
  (
    await stage.rows(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
  ).length;

/** What a handler sends, and whether it returns in the end. */
interface Payload {
  readonly statements: readonly string[];
  readonly fails?: boolean;
}

const leaving = [
  'SET default_transaction_read_only = on',
  '/* why */ SET SESSION statement_timeout = 7777',
  `SELECT set_config('lock_timeout', '7777', false)`,
  'SELECT pg_advisory_lock(7)',
  'CREATE TEMP TABLE mine (n int)',
  'PREPARE mine AS SELECT 1',
];

let schemas = 0;

/** @param pool `null` = the backend's own */
async function open(pool: pg.Pool | null) {
  const work = defineJob({
    name: 'work',
    payload: anything,
    transaction: true,
    retry: noRetry,
    async handle({ statements, fails }: Payload, ctx) {
      for (const statement of statements) await ctx.tx.query(statement);
      await ctx.tx.query('SAVEPOINT one');
      if (fails) throw new Error('on purpose');
      return (await ctx.tx.query('SHOW statement_timeout')).rows[0];
    },
  });
  const schema = `session${++schemas}`;
  const backend = postgres({ schema, listen: false, ...(pool ? { pool } : { url: stage.url }) });
  const app = createApp({ jobs: [work], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const client = connect(app, backend);
  return {
    backend,
    /** Returns how the job ended. */
    async run(payload: Payload) {
      const { id } = await client.enqueue(work, payload);
      await startWorker(app, { backend, untilIdle: true }).done;
      return client.status(id);
    },
  };
}

describe.each([
  ["the backend's own pool", false],
  ["a pool of the application's", true],
])('on %s', (_name, isGiven) => {
  it.each([
    ['commits', false],
    ['rolls back', true],
  ])('nothing is left in the session of a handler that %s', async (_how, fails) => {
    const pool = isGiven ? new pg.Pool({ connectionString: stage.url, max: 3 }) : null;
    const { backend, run } = await open(pool);
    const status = fails ? 'failed' : 'completed';
    for (let times = 0; times < 3; times++) {
      expect(await run({ statements: leaving.slice(0, 1), fails })).toMatchObject({ status });
      expect(await run({ statements: leaving.slice(1), fails })).toMatchObject({ status });
      expect(await advisoryLocks()).toBe(0);
    }
    expect(await run({ statements: [] })).toMatchObject({ output: { statement_timeout: '0' } });
    await backend.close();
    await pool?.end();
  });
});

it('what an application sets in each connection of its pool stays set, also beside a handler that changes it', async () => {
  const pool = new pg.Pool({ connectionString: stage.url, max: 3 });
  pool.on('connect', (client) => void client.query('SET statement_timeout = 4321'));
  let removed = 0;
  pool.on('remove', () => removed++);
  const { backend, run } = await open(pool);
  const expected = { status: 'completed', output: { statement_timeout: '4321ms' } };
  const locally = [
    'SET LOCAL lock_timeout = 1',
    'SET CONSTRAINTS ALL DEFERRED',
    'CREATE TEMP TABLE mine (n int) ON COMMIT DROP',
  ];
  expect(await run({ statements: locally })).toMatchObject(expected);
  expect(await run({ statements: locally })).toMatchObject(expected);
  expect(removed).toBe(0); // kept: there is nothing to undo
  await run({ statements: ['SET statement_timeout = 1234'] });
  await expect.poll(() => removed).toBe(1); // the pool says so when the connection has ended
  for (let times = 0; times < 3; times++) expect(await run({ statements: [] })).toMatchObject(expected);
  await backend.close();
  await pool.end();
});
