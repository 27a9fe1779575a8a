import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { defineJob, startWorker, type TransactionContext } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { anything, createStage } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

describe('ctx.tx', () => {
  it('is refused to a job that has not asked for it', async () => {
    const without = defineJob({
      name: 'without',
      payload: anything,
      maxRetries: 0,
      handle: (_, ctx) => (ctx as TransactionContext).tx.query('SELECT 1'), // as plain JavaScript may
    });
    const bench = await stage.bench([without]);
    await bench.client.enqueue(without, 1);
    await bench.start({ untilIdle: true }).done;
    const [dead] = await bench.backend.admin!.deadLetters.list({});
    expect(dead!.error).toBe('CONFIG: Job "without" has no transaction. Define it with transaction: true.');
  });

  it('says why the server has ended its session, which is no crash', async () => {
    let pid: unknown;
    const idle = defineJob({
      name: 'idle',
      payload: anything,
      transaction: true,
      maxRetries: 0,
      async handle(_, ctx) {
        const { rows } = await ctx.tx.query('SELECT pg_backend_pid() AS pid');
        pid = (rows[0] as { pid: number }).pid;
        await ctx.tx.query("INSERT INTO effects (name) VALUES ('lost')");
        await ctx.tx.query("SET LOCAL idle_in_transaction_session_timeout = '20ms'");
        while ((await stage.rows('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).length > 0);
      },
    });
    const bench = await stage.bench([idle]);
    const { id } = await bench.client.enqueue(idle, 1);
    await bench.start({ untilIdle: true }).done;
    expect(await bench.client.status(id)).toMatchObject({
      reason: 'exhausted',
      error: expect.stringMatching(
        /^HANDLER: The handler's transaction was rolled back: .*idle-in-transaction timeout.*raise idle_in_transaction_session_timeout\.$/,
      ),
    });
    expect(await stage.effects()).toEqual([]);
  });

  it('needs a backend that has transactions, which the worker says at its start', async () => {
    const work = defineJob({ name: 'work', payload: anything, transaction: true, handle() {} });
    const bench = await stage.bench([work]);
    const backend = sqlite(':memory:');
    expect(() => startWorker(bench.app, { backend })).toThrow(
      'Job "work" has a transaction, but backend "sqlite" offers none.',
    );
    await backend.close();
  });
});
