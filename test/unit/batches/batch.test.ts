import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob } from '../../../core/index.ts';
import { testApp } from '../../testing/index.ts';
import { items, shop, summary } from './shop.ts';

describe('a batch', () => {
  it('runs a job per item, and calls what comes after once', async () => {
    const { client, drain, rows, calls, row, ends } = shop();
    const batch = await client.batch('orders', items(250), {
      job: row,
      ...ends,
      context: { tenantId: 'acme' },
    });
    expect(batch).toMatchObject({ name: 'orders', state: 'running', total: 250, sent: 250, percent: 0 });
    await drain();
    expect(rows).toEqual(items(250).map(({ row }) => row));
    const payload = { batchId: batch.id, name: 'orders', total: 250, succeeded: 250, failed: 0 };
    expect(calls).toEqual([
      ['done', payload, 'acme'],
      ['over', payload, 'acme'],
    ]);
    expect(await client.batches.get(batch.id)).toMatchObject({ state: 'complete', percent: 100, etaMs: 0 });
  });
});

describe('failures', () => {
  it('lead to onFailure where more children fail than are allowed', async () => {
    for (const [allowFailures, called] of [
      [0, 'failed'],
      [9, 'failed'],
      [10, 'done'],
      ['9%', 'failed'],
      ['10%', 'done'],
    ] as const) {
      const { client, drain, calls, row, ends } = shop((row) => row % 10 === 0);
      const { id } = await client.batch('orders', items(100), { job: row, ...ends, allowFailures });
      await drain();
      const outcome = called === 'done' ? 'succeeded' : 'failed';
      expect(await client.batches.get(id)).toMatchObject({ state: 'complete', outcome });
      expect(calls.map(([name, { failed, succeeded }]) => [name, failed, succeeded])).toEqual([
        [called, 10, 90],
        ['over', 10, 90],
      ]);
    }
  });

  it('can be retried alone, and what comes after is called again', async () => {
    let isDown = true;
    const { client, drain, calls, rows, row, ends } = shop((row) => isDown && row % 10 === 0);
    const { id } = await client.batch('orders', items(30), { job: row, ...ends });
    await drain();
    isDown = false;
    expect(await client.batches.retryFailed(id)).toBe(3);
    expect(await client.batches.get(id)).toMatchObject({ state: 'running', succeeded: 27, failed: 0 });
    await drain();
    expect(rows.toSorted((a, b) => a - b)).toEqual(items(30).map(({ row }) => row));
    expect(calls.map(([name, { failed }]) => [name, failed])).toEqual([
      ['failed', 3],
      ['over', 3],
      ['done', 0],
      ['over', 0],
    ]);
    expect(await client.batches.retryFailed(id)).toBe(0);
    await expect(client.batches.retryFailed('none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a batch that stops half-way', () => {
  async function* breaking(count: number, at: number) {
    for (const item of items(count)) {
      if (item.row === at) throw new Error('the file is torn');
      yield item;
    }
  }

  it('says how many were sent, and goes on where it stopped', async () => {
    const { client, drain, rows, calls, row, ends } = shop();
    const options = { job: row, ...ends, chunkSize: 10, id: 'import-7' };
    await expect(client.batch('orders', breaking(50, 25), options)).rejects.toMatchObject({
      code: 'BATCH',
      message:
        'The batch has stopped: the file is torn. 20 of its items were sent. Call batch() again with id "import-7" to go on, or client.batches.cancel("import-7").',
    });
    await drain();
    expect(await client.batches.get('import-7')).toMatchObject({ state: 'sending', total: null, sent: 20 });
    await client.batch('orders', items(50), options);
    expect(await client.batch('orders', items(50), options)).toMatchObject({ sent: 50, state: 'running' });
    await drain();
    expect(rows).toEqual(items(50).map(({ row }) => row));
    expect(calls.map(([name]) => name)).toEqual(['done', 'over']);
  });

  it('sends no child a second time when what was sent was not said', async () => {
    const { client, backend, drain, rows, row, ends } = shop();
    const options = { job: row, ...ends, chunkSize: 10, id: 'import-7' };
    const batches = client.stores.batches!;
    const stores = { ...client.stores, batches };
    let calls = 0;
    (client.stores as { batches: unknown }).batches = {
      ...batches,
      // The process dies after the second chunk was sent.
      sent: (...call: Parameters<typeof batches.sent>) => {
        if (++calls === 3) throw new Error('killed');
        return batches.sent(...call);
      },
    };
    await expect(client.batch('orders', items(50), options)).rejects.toMatchObject({ code: 'BATCH' });
    (client.stores as { batches: unknown }).batches = stores.batches;
    await drain();
    // Nothing is left of those that have run: the queue would take their ids for new ones.
    await client.stores.records.purge({ completedMs: 0, deadMs: 0 });
    expect((await backend.stores!.records.page({})).records.length).toBe(0);
    await client.batch('orders', items(50), options);
    await drain();
    expect(rows).toEqual(items(50).map(({ row }) => row));
  });

  it('stops at an item that is refused, and names it', async () => {
    const { client, row } = shop();
    const torn = [...items(14), { row: 'x' as unknown as number }, ...items(5, 15)];
    await expect(client.batch('orders', torn, { job: row, chunkSize: 10, id: 'a' })).rejects.toThrow(
      /item 14 \(counted from 0\) was refused: The payload does not fit.*10 of its items were sent/,
    );
    expect(await client.batches.cancel('a')).toBe('cancelled');
    expect(await client.batches.get('a')).toMatchObject({ state: 'cancelled', total: 20, failed: 20 });
  });

  it('refuses fewer items than were sent before', async () => {
    const { client, row } = shop();
    const options = { job: row, chunkSize: 10, id: 'import-7' };
    await client.batch('orders', breaking(50, 25), options).catch(() => {});
    await expect(client.batch('orders', items(12), options)).rejects.toThrow(
      /20 may be in the queue, now there are only 12/,
    );
    await expect(client.batch('other', items(12), options)).rejects.toMatchObject({ code: 'OPTION' });
  });
});

describe('a cancel', () => {
  it('ends the children that wait, and calls onFailure and onComplete', async () => {
    const { client, drain, rows, calls, row, ends } = shop();
    const { id } = await client.batch('orders', items(30), { job: row, ...ends, allowFailures: 100 });
    expect(await client.batches.cancel(id)).toBe('cancelled');
    await drain();
    expect(rows).toEqual([]);
    expect(calls.map(([name, { failed }]) => [name, failed])).toEqual([
      ['failed', 30],
      ['over', 30],
    ]);
    expect(await client.batches.cancel(id)).toBe('finished');
    expect(await client.batches.cancel('none')).toBe('unknown');
  });

  it('stops who sends, and what it has sent meanwhile', async () => {
    const { client, drain, rows, row } = shop();
    async function* some() {
      yield* items(20);
      await client.batches.cancel('a');
      yield* items(20, 20);
    }
    await expect(client.batch('orders', some(), { job: row, chunkSize: 10, id: 'a' })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    await drain();
    expect(rows).toEqual([]);
    expect(await client.batches.get('a')).toMatchObject({ state: 'cancelled' });
  });
});

describe('what is wrong is said before anything is sent', () => {
  it.each([
    ['no item', [], {}, 'OPTION', /at least one item, got none/],
    ['no iterable', 7, {}, 'OPTION', /an iterable or a stream, got 7/],
    ['an unknown option', items(1), { onSucess: null }, 'OPTION', /Did you mean .?onSuccess/],
    ['a chunk of none', items(1), { chunkSize: 0 }, 'OPTION', /from 1 to 10000, got 0/],
    ['none at a time', items(1), { concurrency: 0 }, 'OPTION', /from 1 to 10000, got 0/],
    ['a share above all', items(1), { allowFailures: '120%' }, 'OPTION', /a share like '5%', got "120%"/],
    ['an id that is none', items(1), { id: 'a b' }, 'OPTION', /the id of a batch/],
    ['both ways', items(1), { map: () => null }, 'OPTION', /either job or map .* got both/],
  ])('%s', async (_, some, wrong, code, message) => {
    const { client, row, drain } = shop();
    const sending = client.batch('orders', some as never, { job: row, ...wrong } as never);
    await expect(sending).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(await drain()).toEqual([]);
    expect(await client.batches.list()).toEqual([]);
  });

  it('a callback that the app does not have, or that takes another payload', async () => {
    const { client, row, rows: _, ends } = shop();
    const stranger = defineJob({ name: 'stranger', payload: summary, async handle() {} });
    await expect(client.batch('orders', items(1), { job: row, onSuccess: stranger })).rejects.toMatchObject({
      code: 'UNKNOWN_JOB',
      message:
        'Expected onSuccess of batch "orders" to be a job of the app, got "stranger". Add it to createApp({ jobs }).',
    });
    // @ts-expect-error: its payload is no summary
    await expect(client.batch('orders', items(1), { job: row, onSuccess: row })).rejects.toMatchObject({
      code: 'PAYLOAD',
      message: expect.stringMatching(/^Job "row" cannot be onSuccess of a batch/),
    });
    expect(ends.onSuccess.name).toBe('done');
  });

  it('a unique job, which another one may stand for', async () => {
    const job = defineJob({
      name: 'only',
      payload: z.object({ row: z.number() }),
      unique: { key: () => 'one', during: 'waiting' },
      async handle() {},
    });
    const { client } = testApp(createApp({ jobs: [job] }));
    await expect(client.batch('orders', items(1), { job })).rejects.toMatchObject({ code: 'CONFIG' });
  });
});
