/** `/batches`: how far one is, cancelled and retried by those whose it is. */

import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/index.ts';
import { createBench, expectSafe, invoice, keys, report } from './kit.ts';

/** Two children, for tenant acme. */
async function bench() {
  const b = createBench();
  const items = [{ invoiceId: '1' }, { invoiceId: '2' }];
  await b.client.batch('orders', items, {
    ...{ id: 'orders-7', job: invoice, onComplete: report as never },
    ...{ options: { maxRetries: 0 }, context: { tenantId: 'acme' } },
  });
  return b;
}

const as = (key: string, method = 'GET') => ({ method, key });

describe('/batches/:id', () => {
  it('tells how far it is, cancels it once, and says when there is nothing to do', async () => {
    const { send } = await bench();
    const shown = await send('/batches/orders-7', as(keys.acme));
    expectSafe(shown);
    expect([shown.status, shown.body]).toEqual([
      200,
      expect.objectContaining({
        ...{ id: 'orders-7', name: 'orders', tenantId: 'acme', state: 'running', total: 2, percent: 0 },
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        completedAt: null,
      }),
    ]);
    const cancelled = await send('/batches/orders-7/cancel', as(keys.acme, 'POST'));
    expect(cancelled.body).toMatchObject({ state: 'cancelled', failed: 2 });
    const again = await send('/batches/orders-7/cancel', as(keys.acme, 'POST'));
    expectSafe(again);
    expect([again.status, again.body.code]).toEqual([409, 'CONFLICT']);
    expect((await send('/batches/orders-7/retry', as(keys.acme, 'POST'))).body).toMatchObject({ retried: 0 });
  });

  it('runs its dead letters again', async () => {
    const { send, backend, client } = await bench();
    const leases = await backend.fetch({ queues: ['mail'], max: 2, leaseMs: 60_000, waitMs: 0 });
    const report = {
      ...{ attempt: 1, startedAt: 0, endedAt: 0, output: null },
      outcome: 'dead-lettered',
    } as const;
    for (const lease of leases)
      await backend.abandon(lease, { reason: 'exhausted', error: 'x', report: { ...report, error: null } });
    await client.stores.batches!.ended([0, 1].map((number) => ({ batch: 'orders-7', number, failed: true })));
    const retried = await send('/batches/orders-7/retry', as(keys.operator, 'POST'));
    expectSafe(retried);
    expect(retried.body).toMatchObject({ retried: 2, state: 'running', failed: 0 });
  });

  it('answers others as if there were none, and credentials that are bound to jobs not at all', async () => {
    const { send } = await bench();
    for (const [path, method] of [
      ['/batches/orders-7', 'GET'],
      ['/batches/orders-7/cancel', 'POST'],
      ['/batches/orders-7/retry', 'POST'],
      ['/batches/orders-8', 'GET'],
      ['/batches/%3Cb%3E', 'GET'],
    ] as const) {
      const foreign = await send(path, as(keys.globex, method));
      expectSafe(foreign);
      expect([path, foreign.status]).toEqual([path, 404]);
      expect((await send(path, as(keys.reporter, method))).status).toBe(403);
    }
    expect((await send('/batches/orders-7', as(keys.operator))).body.failed).toBe(0);
  });

  it('says where none are kept', async () => {
    const none = new LongshoreError('CONFIG', 'Backend "sqs" keeps no batches.');
    const { send } = createBench({}, (client) => ({
      ...client,
      batches: { ...client.batches, get: () => Promise.reject(none) },
    }));
    const answer = await send('/batches/x');
    expectSafe(answer);
    expect([answer.status, answer.body.code]).toEqual([501, 'CONFIG']);
  });
});
