/** What the compiler must accept and refuse as a transaction. Each marker names the error that has to be there. */

import { type Client, type Contract, defineJob, type TransactionContext } from 'longshore';
import { drizzleTx, kyselyTx, prismaTx } from 'longshore/local/postgres';
import type pg from 'pg';
import { expectTypeOf } from 'vitest';
import * as z from 'zod';

declare const other: Contract.SqlTransaction;

export const ship = defineJob({
  name: 'order.ship',
  payload: z.object({ orderId: z.string() }),
  transaction: true,
  async handle({ orderId }, ctx) {
    expectTypeOf(ctx.tx).toEqualTypeOf<Contract.SqlTransaction>();
    const { rows } = await ctx.tx.query('UPDATE orders SET shipped = true WHERE id = $1', [orderId]);
    expectTypeOf(rows).toEqualTypeOf<unknown[]>();
    await ctx.enqueue(ship, { orderId }, { tx: ctx.tx });
    // @ts-expect-error TS2540 the transaction is not the handler's to replace
    ctx.tx = other;
    // @ts-expect-error TS2345 statements are text
    await ctx.tx.query(7);
    // @ts-expect-error TS2339 the worker commits
    await ctx.tx.commit();
  },
});

export const plain = defineJob({
  name: 'order.look',
  payload: z.object({ orderId: z.string() }),
  handle(_, ctx) {
    // @ts-expect-error TS2339 only a job with a transaction has one
    ctx.tx;
    return ctx.step('write', ({ tx }) => tx.query('SELECT 1'), { transaction: true });
  },
});

/** What several handlers with a transaction share. */
export const write = ({ tx }: TransactionContext): Promise<unknown> => tx.query('SELECT 1');
// @ts-expect-error TS2741 a handler without one has nothing to give it
defineJob({ name: 'order.write', payload: z.object({}), handle: (_, ctx) => write(ctx) });
defineJob({ name: 'order.write', payload: z.object({}), transaction: true, handle: (_, ctx) => write(ctx) });

const payload = { orderId: '7' };

export async function fromPg(client: Client, one: pg.Client, pooled: pg.PoolClient): Promise<void> {
  await client.enqueue(ship, payload, { tx: one });
  await client.enqueue(ship, payload, { tx: pooled, delayMs: 1000 });
  await client.enqueueMany(ship, [payload], { tx: pooled });
  // @ts-expect-error TS2322 a number is no transaction
  await client.enqueue(ship, payload, { tx: 7 });
  // @ts-expect-error TS2741 nor is a promise of one: it has to be awaited
  await client.enqueue(ship, payload, { tx: Promise.resolve(pooled) });
  // @ts-expect-error TS2322 nor true
  await client.enqueueMany(ship, [payload], { tx: true });
}

interface Libraries {
  readonly drizzle: { execute(query: string | { getSQL(): object }): Promise<{ rows: object[] }> };
  readonly kysely: { executeQuery<Row>(query: { sql: string }): Promise<{ rows: Row[] }> };
  readonly prisma: { $queryRawUnsafe<Result = unknown>(text: string, ...values: unknown[]): Promise<Result> };
}

export async function fromLibraries(client: Client, { drizzle, kysely, prisma }: Libraries): Promise<void> {
  for (const tx of [drizzleTx(drizzle), kyselyTx(kysely), prismaTx(prisma)]) {
    expectTypeOf(tx).toEqualTypeOf<Contract.SqlTransaction>();
    await client.enqueue(ship, payload, { tx });
  }
  // @ts-expect-error TS2741 without its adapter
  await client.enqueue(ship, payload, { tx: drizzle });
  // @ts-expect-error TS2741 the adapter of another library
  kyselyTx(drizzle);
  // @ts-expect-error TS2741 the adapter of another library
  drizzleTx(prisma);
  // @ts-expect-error TS2345 a number is no transaction
  prismaTx(7);
}

// @ts-expect-error TS2322 a choice of two
export const wrong = defineJob({ name: 'a', payload: z.any(), transaction: 'serializable', handle() {} });
