import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Kysely, PostgresDialect, sql as raw } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { drizzleTx, kyselyTx, prismaTx } from '../../../local/backends/postgres/adapters.ts';
import { refusal } from '../../unit/core/kit.ts';
import { describeAdapter, type InTransaction, type Library } from './adapters-laws.ts';
import { createStage, plain } from './transactions-kit.ts';

const stage = await createStage();
const pool = new pg.Pool({ connectionString: stage.url, max: 4 });
afterEach(() => stage.clear());
afterAll(async () => {
  await pool.end();
  await stage.drop();
});

const drizzled = drizzle(pool);
type DrizzleTx = Parameters<Parameters<typeof drizzled.transaction>[0]>[0];
const insideDrizzle = (tx: DrizzleTx): InTransaction => ({
  tx: drizzleTx(tx),
  run: (text) => tx.execute(sql.raw(text)),
  nested: (work) => tx.transaction((inner) => work(insideDrizzle(inner))),
});

const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });

/**
 * Not Prisma itself, which needs 70 MB: what its documentation says of `$queryRawUnsafe`, and the error that version 7
 * throws, around a real transaction.
 */
const byHand = (client: Pick<pg.Pool, 'query'>) => ({
  async $queryRawUnsafe(text: string, ...values: unknown[]) {
    try {
      return (await client.query(text, values)).rows;
    } catch (error) {
      const { code, message: originalMessage } = error as pg.DatabaseError;
      const cause = { originalCode: code, originalMessage };
      const meta = { driverAdapterError: { name: 'DriverAdapterError', cause } };
      throw Object.assign(new Error(`Raw query failed: ${values}`), { code: 'P2010', meta });
    }
  },
});

const libraries: Record<string, Library> = {
  drizzleTx: {
    transaction: (work) => drizzled.transaction((tx) => work(insideDrizzle(tx))),
    outside: () => drizzleTx(drizzled),
  },
  kyselyTx: {
    transaction: (work) =>
      kysely
        .transaction()
        .execute((trx) =>
          work({ tx: kyselyTx(trx), run: (text) => raw.raw(text).execute(trx), nested: null }),
        ),
    outside: () => kyselyTx(kysely),
  },
  prismaTx: {
    async transaction(work) {
      const client = await stage.client();
      await client.query('BEGIN');
      try {
        await work({ tx: prismaTx(byHand(client)), run: (text) => client.query(text), nested: null });
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      }
    },
    outside: () => prismaTx(byHand(pool)),
  },
};

for (const [name, library] of Object.entries(libraries)) describeAdapter(name, stage, library);

describe('the adapters', () => {
  it('follow the savepoints of Drizzle', async () => {
    const { client, counts } = await stage.bench();
    await libraries.drizzleTx!.transaction(async ({ tx, nested }) => {
      await client.enqueue(plain, 'outer', { tx });
      const inner = nested!(async (inside) => {
        await client.enqueue(plain, 'inner', { tx: inside.tx });
        throw new Error('only the inner one');
      });
      await expect(inner).rejects.toThrow('only the inner one');
    });
    expect(await counts()).toEqual([1, 0, 0, 0]);
  });

  it('pass on what other versions of a library do', async () => {
    // Drizzle on postgres.js answers with the rows alone; Prisma 6 has the code of the database in another place.
    const rows = [{ copies: null }];
    expect(await drizzleTx({ execute: async () => rows }).query('SELECT 1')).toEqual({ rows });
    const broken = new Error('no answer');
    const fails = (error: unknown) => async () => {
      throw error;
    };
    await expect(drizzleTx({ execute: fails(broken) }).query('')).rejects.toBe(broken);
    await expect(prismaTx({ $queryRawUnsafe: fails(broken) }).query('')).rejects.toBe(broken);
    const meta = { code: '25P01', message: 'ERROR: not in one' };
    const older = prismaTx({ $queryRawUnsafe: fails(Object.assign(new Error('P2010'), { meta })) });
    await expect(older.query('')).rejects.toMatchObject({ code: '25P01', message: 'ERROR: not in one' });
  });

  it.each([drizzleTx, kyselyTx, prismaTx])('$name refuses what is not its own', async (adapter) => {
    const client = await stage.client();
    for (const wrong of [client, {}, null, undefined, 7]) {
      const { code, message: text } = await refusal(() => adapter(wrong as never));
      expect(code).toBe('OPTION');
      expect(text).toContain(`${adapter.name}() expects the library's own transaction, got `);
    }
  });
});
