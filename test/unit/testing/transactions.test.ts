/** Jobs with a transaction, in tests of applications. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { type BeginTransaction, type TestAppOptions, testApp } from '../../testing/index.ts';

const payload = z.number();

function start(transaction?: BeginTransaction) {
  const ran: number[] = [];
  const audit = defineJob({ name: 'audit', payload, handle: (n) => void ran.push(n) });
  const ship = defineJob({
    name: 'ship',
    payload,
    transaction: true,
    maxRetries: 0,
    async handle(n, ctx) {
      await ctx.tx.query('UPDATE stock SET left = left - $1', [n]);
      await ctx.enqueue(audit, n, { tx: ctx.tx });
      if (n < 0) throw new Error('nothing to ship');
    },
  });
  const step = defineJob({
    name: 'step',
    payload,
    async handle(n, ctx) {
      await ctx.step('write', ({ tx }) => tx.query('INSERT', [n]), { transaction: true });
      await ctx.sleep('1h');
      await ctx.step('end', () => {});
    },
  });
  const plain = defineJob({ name: 'plain', payload, transaction: true, handle: () => 'done' });
  const app = createApp({ jobs: [audit, ship, step, plain] });
  return { t: testApp(app, { ...(transaction && { transaction }) }), ran, audit, ship, step, plain };
}

/** What becomes of each transaction. */
function database(fault?: string) {
  const said: string[] = [];
  const transaction: BeginTransaction = () => ({
    async query(text, values) {
      said.push(`${text} ${values}`);
      return { rows: [] };
    },
    commit() {
      if (fault) throw new Error(fault);
      said.push('commit');
    },
    rollback: () => void said.push('rollback'),
  });
  return { said, transaction };
}

describe('testApp(app, { transaction })', () => {
  it('commits what a handler writes with its ack, and enqueues what it has enqueued in it', async () => {
    const { said, transaction } = database();
    const { t, ship, ran } = start(transaction);
    await t.enqueue(ship, 2);
    expect((await t.drain()).map(({ outcome }) => outcome)).toEqual(['acked', 'acked']);
    expect(said).toEqual(['UPDATE stock SET left = left - $1 2', 'commit']);
    expect(ran).toEqual([2]);
  });

  it('rolls back with a failure, and nothing is enqueued', async () => {
    const { said, transaction } = database();
    const { t, ship, ran } = start(transaction);
    await t.enqueue(ship, -1);
    expect(await t.drain()).toMatchObject([{ outcome: 'dead-lettered' }]);
    expect(said.at(-1)).toBe('rollback');
    expect(ran).toEqual([]);
  });

  it('fails a job whose transaction cannot be committed or begun, and never the test', async () => {
    for (const transaction of [
      database('deferred constraint').transaction,
      () => {
        throw new Error('deferred constraint');
      },
    ]) {
      const { t, ship, ran } = start(transaction);
      await t.enqueue(ship, 2);
      expect(await t.drain()).toMatchObject([{ outcome: 'dead-lettered' }]);
      expect((await t.deadLetters())[0]!.error).toContain('deferred constraint');
      expect(ran).toEqual([]);
    }
  });

  it('gives a step a transaction of its own, once', async () => {
    const { said, transaction } = database();
    const { t, step } = start(transaction);
    const { id } = await t.enqueue(step, 3);
    await t.runFor('2h');
    expect(await t.status(id)).toMatchObject({ status: 'completed' });
    expect(said).toEqual(['INSERT 3', 'commit']);
  });

  it('runs handlers without one too, and what they ask of ctx.tx fails in words', async () => {
    const { t, plain, ship } = start();
    const { id } = await t.enqueue(plain, 1);
    await t.enqueue(ship, 1);
    await t.drain();
    expect(await t.status(id)).toMatchObject({ status: 'completed', output: 'done' });
    expect((await t.deadLetters())[0]!.error).toContain('Pass one as testApp(app, { transaction })');
  });

  it('refuses other options', () => {
    const app = createApp({ jobs: [start().audit] });
    expect(() => testApp(app, { transactions: () => {} } as TestAppOptions)).toThrow(
      /Unknown option "transactions"/,
    );
    expect(() => testApp(app, { transaction: {} as never })).toThrow(/transaction of testApp\(\)/);
  });
});
