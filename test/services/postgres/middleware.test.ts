/** Middleware in the transaction of a job, on real tables with row-level security. */

import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { defineJob, type Middleware, PermanentError } from '../../../core/index.ts';
import { anything, createStage } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(async () => {
  await stage.rows('DROP TABLE invoices');
  await stage.drop();
});

await stage.rows('CREATE TABLE invoices (tenant text NOT NULL, name text NOT NULL)');
await stage.rows("CREATE POLICY own ON invoices USING (tenant = current_setting('app.tenant'))");

const ofTenant: Middleware = async (ctx, next) => {
  const { tenantId } = ctx.context;
  if (tenantId === undefined) throw new PermanentError(`job ${ctx.id} has no tenant`);
  await ctx.tx.query("SELECT set_config('app.tenant', $1, true)", [tenantId]);
  return next();
};

const insert = 'INSERT INTO invoices (tenant, name) VALUES ($1, $2)';
const work = defineJob({
  name: 'work',
  payload: anything,
  transaction: true,
  maxRetries: 0,
  async handle({ tenant, name }, ctx) {
    await ctx.tx.query(insert, [tenant, name]);
    const { rows } = await ctx.tx.query('SELECT name FROM invoices ORDER BY name');
    return rows;
  },
});

describe('a middleware in a transaction', () => {
  it('lets a handler see and write the rows of its tenant only', async () => {
    const bench = await stage.bench([work], { use: [ofTenant] });
    await stage.rows(insert, ['globex', 'theirs']);
    await stage.rows('ALTER TABLE invoices ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
    const run = async (payload: object, context: object) => {
      const { id } = await bench.client.enqueue(work, payload, { context });
      await bench.start({ untilIdle: true }).done;
      return (await bench.client.status(id))!;
    };
    const own = await run({ tenant: 'acme', name: 'ours' }, { tenantId: 'acme' });
    expect(own).toMatchObject({ status: 'completed', output: [{ name: 'ours' }] });
    const other = await run({ tenant: 'globex', name: 'sneaked in' }, { tenantId: 'acme' });
    expect(other.status).toBe('failed');
    expect(other.attempts[0]!.error!.message).toMatch(/row-level security/);
    const none = await run({ tenant: 'acme', name: 'anybody' }, {});
    expect(none.attempts[0]!.error!.message).toMatch(/has no tenant$/);
    await stage.rows('ALTER TABLE invoices DISABLE ROW LEVEL SECURITY');
    const names = await stage.rows('SELECT name FROM invoices ORDER BY name');
    expect(names).toEqual([{ name: 'ours' }, { name: 'theirs' }]);
  });
});
