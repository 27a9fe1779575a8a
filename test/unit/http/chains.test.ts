/** `/chains`: how far one is, and cancelled by those who may see all of its jobs. */

import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/index.ts';
import { createBench, expectSafe, invoice, keys, report } from './kit.ts';

const as = (key: string, method = 'GET') => ({ method, key });

/** Of two links, for tenant acme. */
async function bench() {
  const b = createBench();
  const chain = [invoice, { job: report, options: { name: 'last' } }] as never;
  await b.client.chain(chain, { invoiceId: '1' } as never, { id: 'x-7', context: { tenantId: 'acme' } });
  return b;
}

describe('/chains/:id', () => {
  it('tells how far it is, cancels it once, and says when there is nothing to do', async () => {
    const { send } = await bench();
    const shown = await send('/chains/x-7', as(keys.acme));
    expectSafe(shown);
    const none = { status: null, createdAt: null, finishedAt: null, error: null };
    const first = { ...none, status: 'pending', createdAt: expect.stringMatching(/^\d{4}-.*Z$/) };
    expect([shown.status, shown.body]).toEqual([
      200,
      {
        ...{ id: 'x-7', state: 'running', link: 1 },
        links: [
          { link: 1, status: 'pending', jobs: [{ id: 'chain.x-7.1', job: 'invoice.send', ...first }] },
          { link: 2, status: null, jobs: [{ id: 'chain.x-7.2', job: 'report.nightly', ...none }] },
        ],
      },
    ]);
    const cancelled = await send('/chains/x-7/cancel', as(keys.acme, 'POST'));
    expect([cancelled.status, cancelled.body.state]).toEqual([200, 'cancelled']);
    const again = await send('/chains/x-7/cancel', as(keys.operator, 'POST'));
    expect(again.status).toBe(200); // it is what was asked for
  });

  it('tells the worker of a link that runs, and has nothing to do for one that has ended', async () => {
    const { send, backend } = await bench();
    const [lease] = await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    const cancelling = await send('/chains/x-7/cancel', as(keys.acme, 'POST'));
    expectSafe(cancelling);
    expect([cancelling.status, cancelling.body.state]).toEqual([202, 'running']);
    const report = { attempt: 1, startedAt: 0, endedAt: 0, output: null, error: null } as const;
    await backend.abandon(lease!, {
      ...{ reason: 'exhausted', error: 'x' },
      report: { ...report, outcome: 'dead-lettered' },
    });
    const late = await send('/chains/x-7/cancel', as(keys.acme, 'POST'));
    expectSafe(late);
    expect([late.status, late.body.code]).toEqual([409, 'CONFLICT']);
  });

  it('answers others as if there were none', async () => {
    const { send } = await bench();
    for (const [path, method] of [
      ['/chains/x-7', 'GET'],
      ['/chains/x-7/cancel', 'POST'],
      ['/chains/x-8', 'GET'],
      ['/chains/%3Cb%3E', 'GET'],
    ] as const)
      for (const key of [keys.globex, keys.reporter]) {
        const foreign = await send(path, as(key, method));
        expectSafe(foreign);
        expect([path, foreign.status, foreign.body.code]).toEqual([path, 404, 'NOT_FOUND']);
      }
    expect((await send('/chains/x-7')).body.state).toBe('running');
  });

  it('says where no records are kept', async () => {
    const none = new LongshoreError('CONFIG', 'Backend "sqs" keeps no records.');
    const { send } = createBench({}, (client) => ({
      ...client,
      chains: { ...client.chains, get: () => Promise.reject(none) },
    }));
    const answer = await send('/chains/x');
    expectSafe(answer);
    expect([answer.status, answer.body.code]).toEqual([501, 'CONFIG']);
  });
});
