/** Batches on the dashboard: with what they call, their children, who may cancel and retry, and what the pages of their jobs say. */

import { describe, expect, it } from 'vitest';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { items, shop } from '../batches/shop.ts';
import { asker, createBench, enter, expectSafe, expectWrongOption, pageHeaders } from './kit.ts';

/** Five rows, of which the second and the fourth fail. */
async function createBatch(role: 'operator' | 'reader' = 'operator') {
  const it = shop((row) => row === 1 || row === 3);
  const client = it.client;
  const { id } = await client.batch('<b>rows</b>', items(5), { job: it.row, id: 'rows-7', ...it.ends });
  const handler = createDashboard(client, {
    authorize: () => ({ actor: 'ada', role }),
    testing: { newRequestId: () => 'made-id' },
  });
  const ask = asker(handler, 'http://localhost:4020');
  const headers = await pageHeaders(ask, {});
  return {
    ...it,
    id,
    get: (path: string) => ask(`/api/${path}`, { headers }),
    post: (path: string) => ask(`/api/${path}`, { body: {}, headers }),
  };
}

const numbersOf = ({ children }: { children: { number: number }[] }) => children.map(({ number }) => number);

describe('batches', () => {
  it('are listed page by page, and shown with what they call', async () => {
    const { get, drain, id } = await createBatch();
    const list = await get('batches?max=1');
    expectSafe(list);
    expect(list.body).toMatchObject({
      batches: [{ id, name: '<b>rows</b>', state: 'running', outcome: null }],
      next: id,
    });
    expect((await get(`batches?max=1&after=${id}`)).body).toEqual({ batches: [], next: null });
    const before = (await get(`batches/${id}`)).body;
    expect(before).toMatchObject({ round: 1, allowFailures: 0, refused: null });
    expect(before.calls.map(({ end, state }: { end: string; state: string }) => [end, state])).toEqual([
      ['onSuccess', 'not yet'],
      ['onFailure', 'not yet'],
      ['onComplete', 'not yet'],
    ]);
    await drain();
    expect((await get(`batches/${id}`)).body).toMatchObject({
      ...{ state: 'complete', outcome: 'failed', succeeded: 3, failed: 2, percent: 100 },
      calls: [
        { end: 'onSuccess', job: 'done', state: 'left out' },
        { end: 'onFailure', job: 'failed', state: 'called', id: 'batch-end.rows-7.onFailure.1' },
        { end: 'onComplete', job: 'over', state: 'called' },
      ],
    });
  });

  it('have their children listed by number, all of them or those that failed or have not ended', async () => {
    const { get, drain, id, client } = await createBatch();
    expect(numbersOf((await get(`batches/${id}/children?state=open`)).body)).toEqual([0, 1, 2, 3, 4]);
    await drain();
    const first = (await get(`batches/${id}/children?max=2`)).body;
    expect(first).toMatchObject({
      children: [
        { number: 0, id: 'batch.rows-7.0', end: 'succeeded', record: { status: 'completed', runs: 1 } },
        {
          number: 1,
          end: 'failed',
          record: { status: 'failed', job: 'row', error: 'HANDLER: row 1 is bad' },
        },
      ],
      next: '2',
    });
    const rest = (await get(`batches/${id}/children?after=2`)).body;
    expect([numbersOf(rest), rest.next]).toEqual([[2, 3, 4], null]);
    const failed = (await get(`batches/${id}/children?state=failed&max=1`)).body;
    expect([numbersOf(failed), failed.next]).toEqual([[1], '2']);
    expect(numbersOf((await get(`batches/${id}/children?state=failed&after=2`)).body)).toEqual([3]);
    expect((await get(`batches/${id}/children?state=open`)).body).toEqual({ children: [], next: null });
    // A removed letter is failed, and has no record any more.
    await client.backend.admin!.deadLetters.discard(['batch.rows-7.3']);
    const [gone] = (await get(`batches/${id}/children?state=failed&after=2`)).body.children;
    expect(gone).toMatchObject({ number: 3, end: 'failed' });
  });

  it('are cancelled and retried by operators, with an entry in the audit log', async () => {
    const { post, drain, id, client, calls } = await createBatch();
    expect((await post(`batches/${id}/retry`)).body.message).toContain('No child of this batch');
    await drain();
    expect((await post(`batches/${id}/cancel`)).body).toMatchObject({ status: 409, code: 'CONFLICT' });
    expect((await post(`batches/${id}/retry`)).body).toEqual({ message: '2 children run again.' });
    expect((await post(`batches/${id}/cancel`)).body.message).toMatch(/^Cancelled/);
    await drain();
    expect(await client.batches.get(id)).toMatchObject({ state: 'cancelled', outcome: 'cancelled' });
    expect(calls.map(([name]) => name)).toEqual(['failed', 'over', 'failed', 'over']);
    const { entries } = await client.stores.audit!.page({});
    expect(
      entries
        .filter(({ phase }) => phase === 'done')
        .map(({ action, actor, count }) => [action, actor, count]),
    ).toEqual([
      ['batch.cancel', 'ada', 1],
      ['batch.retry', 'ada', 2],
      ['batch.cancel', 'ada', 0],
      ['batch.retry', 'ada', 0],
    ]);
  });

  it('are not changed by readers', async () => {
    const { get, post, id } = await createBatch('reader');
    for (const verb of ['cancel', 'retry'])
      expect((await post(`batches/${id}/${verb}`)).body).toMatchObject({ status: 403 });
    expect((await get(`batches/${id}`)).body).toMatchObject({ state: 'running', failed: 0 });
  });

  it('are missed in words, and wrong questions refused', async () => {
    const { get, post } = await createBatch();
    for (const path of ['batches/none', 'batches/none/children', 'batches/%3Cb%3E'])
      expect((await get(path)).body).toMatchObject({
        status: 404,
        detail: expect.stringContaining('no batch'),
      });
    expect((await post('batches/none/cancel')).body).toMatchObject({ status: 404 });
    expectWrongOption(await get('batches/rows-7/children?state=faild'), 'Did you mean "failed"?');
    expectWrongOption(await get('batches/rows-7/children?after=x'), 'the `next` of an earlier page');
    expectWrongOption(await get('batches?max=0'), 'max to be an integer from 1 to 500');
  });

  it('that are not kept are explained', async () => {
    const { handler, ask } = createBench({}, ({ stores: { batches: _, ...stores }, ...client }) => ({
      ...client,
      stores,
    }));
    const headers = await enter(handler);
    for (const path of ['batches', 'batches/x', 'batches/x/children'])
      expect((await ask(`/api/${path}`, { headers })).body).toEqual({
        unavailable: expect.stringContaining('keeps no batches: give'),
      });
  });
});

it('a job says which child it is, or at whose end it was called', async () => {
  const { get, drain } = await createBatch();
  await drain();
  const role = async (id: string) => (await get(`jobs/${id}`)).body.batch;
  expect(await role('batch.rows-7.4')).toEqual({ batch: 'rows-7', name: '<b>rows</b>', number: 4 });
  expect(await role('batch-end.rows-7.onComplete.1')).toEqual({
    batch: 'rows-7',
    name: '<b>rows</b>',
    end: 'onComplete',
  });
});
