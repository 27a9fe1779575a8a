import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createRun } from '../../../core/attempt/run.ts';
import { lookAtBatches } from '../../../core/batches/look.ts';
import { attempt } from '../../../core/flow.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { createVirtualClock, testApp } from '../../testing/index.ts';

const summary = z.object({
  batchId: z.string(),
  name: z.string(),
  total: z.number(),
  succeeded: z.number(),
  failed: z.number(),
});

function shop(fails: (row: number) => boolean = () => false) {
  const rows: number[] = [];
  const calls: [string, z.infer<typeof summary>, string | undefined][] = [];
  const row = defineJob({
    name: 'row',
    payload: z.object({ row: z.number() }),
    maxRetries: 0,
    async handle({ row }) {
      if (fails(row)) throw new Error(`row ${row} is bad`);
      rows.push(row);
    },
  });
  const call = (name: string) =>
    defineJob({
      name,
      payload: summary,
      async handle(payload, { context }) {
        calls.push([name, payload, context.tenantId]);
      },
    });
  const [done, failed, over] = [call('done'), call('failed'), call('over')];
  const t = testApp(createApp({ jobs: [row, done, failed, over] }));
  return { ...t, rows, calls, row, ends: { onSuccess: done, onFailure: failed, onComplete: over } };
}

const items = (count: number, from = 0) => Array.from({ length: count }, (_, i) => ({ row: from + i }));

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
      await client.batch('orders', items(100), { job: row, ...ends, allowFailures });
      await drain();
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
    expect((await backend.stores!.records.list({})).length).toBe(0);
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
      /got 12, though 20 may be in the queue/,
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

describe('children whose end passes no attempt', () => {
  it('are found when the batch is silent', async () => {
    const { client, clock, drain, calls, row, ends } = shop();
    const { id } = await client.batch('orders', items(5), { job: row, ...ends, allowFailures: 5 });
    await client.cancel(`batch.${id}.0`);
    await client.remove(`batch.${id}.1`);
    await drain();
    expect(await client.batches.get(id)).toMatchObject({ succeeded: 3, failed: 0 });
    expect(await lookAtBatches(client)).toBe(0);
    clock.advance(61_000);
    expect(await lookAtBatches(client)).toBe(1);
    expect(await client.batches.get(id)).toMatchObject({ succeeded: 3, failed: 1 });
    clock.advance(3_700_000);
    expect(await lookAtBatches(client)).toBe(1);
    await drain();
    expect(calls.map(([name, { failed }]) => [name, failed])).toEqual([
      ['done', 2],
      ['over', 2],
    ]);
  });

  it('are called once, by whoever looks after a crash between two of them', async () => {
    const { client, clock, drain, calls, row, ends } = shop();
    const { id } = await client.batch('orders', items(1), { job: row, ...ends });
    const store = client.stores.batches!;
    const { called } = store;
    Object.assign(store, { called: () => Promise.reject(new Error('killed')) });
    await drain();
    Object.assign(store, { called });
    for (let i = 0; i < 3; i++) {
      clock.advance(61_000);
      await lookAtBatches(client);
      await client.stores.records.purge({ completedMs: 0, deadMs: 0 });
      await drain();
    }
    expect(calls.map(([name]) => name)).toEqual(['done', 'over']);
    expect((await store.get(id))?.called).toBe(true);
  });
});

describe('in a job', () => {
  it('an importer that is run again goes on, and its context travels', async () => {
    const rows: [number, string | undefined][] = [];
    const row = defineJob({
      name: 'row',
      payload: z.object({ row: z.number() }),
      async handle({ row }, { context }) {
        rows.push([row, context.tenantId]);
      },
    });
    let runs = 0;
    const importer = defineJob({
      name: 'import',
      payload: z.null(),
      async handle(_, ctx) {
        runs++;
        async function* source() {
          for (const item of items(40)) {
            if (runs === 1 && item.row === 35) throw new Error('down');
            yield item;
          }
        }
        return ctx.batch('rows', source(), { job: row, chunkSize: 10 });
      },
    });
    const { client, drain, advance } = testApp(createApp({ jobs: [row, importer] }));
    await client.enqueue(importer, null, { context: { tenantId: 'acme' } });
    await drain();
    expect(rows.length).toBe(30);
    advance('1h');
    await drain();
    expect(runs).toBe(2);
    expect(rows).toEqual(items(40).map(({ row }) => [row, 'acme']));
  });
});

describe('what is wrong is said before anything is sent', () => {
  it.each([
    ['no item', [], {}, 'OPTION', /at least one item, got none/],
    ['no iterable', 7, {}, 'OPTION', /an iterable or a stream, got 7/],
    ['an unknown option', items(1), { onSucess: null }, 'OPTION', /Did you mean .?onSuccess/],
    ['a chunk of none', items(1), { chunkSize: 0 }, 'OPTION', /from 1 to 10000, got 0/],
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
      unique: { key: () => 'one', while: 'pending' },
      async handle() {},
    });
    const { client } = testApp(createApp({ jobs: [job] }));
    await expect(client.batch('orders', items(1), { job })).rejects.toMatchObject({ code: 'CONFIG' });
  });
});

it('children of several kinds have options of their own', async () => {
  const seen: string[] = [];
  const mail = defineJob({
    name: 'mail',
    payload: z.object({ to: z.string() }),
    async handle({ to }) {
      seen.push(to);
    },
  });
  const count = defineJob({
    name: 'count',
    payload: z.object({ n: z.number() }),
    async handle({ n }) {
      seen.push(String(n));
    },
  });
  const { client, drain } = testApp(createApp({ jobs: [mail, count] }));
  await client.batch('both', [1, 2, 3], {
    map: (n: number) =>
      n === 2
        ? { job: mail, payload: { to: 'ben' } }
        : { job: count, payload: { n }, options: { priority: n } },
  });
  await drain();
  expect(seen).toEqual(['1', '3', 'ben']);
});

it('on a queue that keeps no records, children and calls have keys: it may run two copies of an id', async () => {
  const clock = createVirtualClock();
  const seen: (string | null)[] = [];
  const row = defineJob({
    name: 'row',
    payload: z.object({ row: z.number() }),
    async handle(_, { idempotencyKey }) {
      seen.push(idempotencyKey);
    },
  });
  const done = defineJob({
    name: 'done',
    payload: summary,
    async handle({ total }, { idempotencyKey }) {
      seen.push(`${idempotencyKey} of ${total}`);
    },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [row, done], signing, clock });
  const { stores: _, ...backend } = memory({ clock });
  const client = connect(app, backend, { store: memoryStore({ clock }) });
  await client.batch('orders', items(2), { job: row, onComplete: done, id: 'a' });
  for (;;) {
    const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
    if (!lease) break;
    await attempt(app, { client, settler: backend }, createRun(lease));
  }
  expect(seen).toEqual(['batch.a.0', 'batch.a.1', 'batch-end.a.onComplete.1 of 2']);
  expect(await client.batches.get('a')).toMatchObject({ state: 'complete', succeeded: 2 });
});

it('an app of several backends keeps a batch where its jobs belong', async () => {
  const rows: number[] = [];
  const row = defineJob({
    name: 'row',
    backend: 'fast',
    payload: z.object({ row: z.number() }),
    async handle({ row }) {
      rows.push(row);
    },
  });
  const other = defineJob({ name: 'other', payload: summary, async handle() {} });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [row, other], signing });
  const backends = { default: memory(), fast: memory() };
  const client = connect(app, backends);
  const { id } = await client.batch('orders', items(3), { job: row });
  const worker = await startWorker(app, { backend: backends, untilIdle: true });
  await worker.done;
  expect(rows.toSorted()).toEqual([0, 1, 2]);
  expect(await client.batches.get(id)).toMatchObject({ state: 'complete', succeeded: 3 });
  expect((await client.batches.list()).map((batch) => batch.id)).toEqual([id]);
  await expect(client.batch('orders', items(3), { job: row, onComplete: other })).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/"other" belongs to another backend/),
  });
});

it('a plan that somebody has changed in the store calls nothing', async () => {
  const { client, drain, calls, row, ends, app } = shop();
  const errors: string[] = [];
  app.events.on((event) => {
    if (event.type === 'backend.failed') errors.push(event.error.code);
  });
  const store = client.stores.batches!;
  const { get } = store;
  const forge = async (id: string) => {
    const state = await get(id);
    return state && { ...state, plan: state.plan.replace('orders', 'others') };
  };
  Object.assign(store, { get: forge });
  await client.batch('orders', items(2), { job: row, ...ends });
  await drain();
  expect(calls).toEqual([]);
  expect(errors).toEqual(['SIGNATURE']);
});
