import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { createVirtualClock, testApp } from '../../testing/index.ts';
import { items, shop, summary } from './shop.ts';

describe('children whose end passes no attempt', () => {
  it('are found when the batch is silent', async () => {
    const { client, clock, drain, calls, row, ends } = shop();
    const { id } = await client.batch('orders', items(5), { job: row, ...ends, allowFailures: 5 });
    await client.stores.records.cancel(`batch.${id}.0`);
    await client.backend.pending!.remove({ queue: 'default', id: `batch.${id}.1` });
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

describe('a child whose end cannot be written, on a queue beside its store', () => {
  /** Of one attempt, the writes that are named fail. */
  async function childOf(
    fails: boolean,
    away: readonly ('mark' | 'record')[],
    keeps: 'records' | 'nothing' | 'nothing of this job' = 'records',
  ) {
    const clock = createVirtualClock();
    const child = defineJob({
      name: 'child',
      payload: z.object({ row: z.number() }),
      maxRetries: fails ? 0 : 1,
      ...(keeps === 'nothing of this job' && { retention: { completedMs: 0, deadMs: 0 } }),
      async handle() {
        if (fails) throw new Error('boom');
      },
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [child], signing, clock });
    const { stores: _, ...backend } = memory({ clock });
    const store = memoryStore({ clock });
    const records =
      keeps === 'nothing' ? { ...store.records, writer: undefined, recordsDisabled: true } : store.records;
    const client = connect(app, backend, { store: { ...store, records } as typeof store });
    await client.batch('orders', items(1), { id: 'a', job: child });
    const next = async () => {
      const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
      return lease && attempt(app, { client, settler: backend }, createRun(lease));
    };
    const { writer } = store.records;
    const batches = client.stores.batches!;
    const [{ settled }, { ended }] = [writer!, batches];
    const failing = () => Promise.reject(new Error('the store is away'));
    if (away.includes('record')) Object.assign(writer!, { settled: failing });
    if (away.includes('mark')) Object.assign(batches, { ended: failing });
    const first = await next().catch((error) => error);
    Object.assign(writer!, { settled });
    Object.assign(batches, { ended });
    clock.advance(61_000);
    await backend.reapExpired('default');
    const second = await next();
    await lookAtBatches(client);
    return { first, second, batch: await client.batches.get('a') };
  }

  it.each([false, true])('comes back, so that its batch ends, when it has failed: %s', async (fails) => {
    for (const keeps of ['records', 'nothing', 'nothing of this job'] as const) {
      const away = keeps === 'records' ? (['mark', 'record'] as const) : (['mark'] as const);
      const { first, second, batch } = await childOf(fails, away, keeps);
      expect(first).toMatchObject({ code: 'BACKEND', message: expect.stringContaining('batch.a.0') });
      expect(second).toBeDefined();
      expect(batch).toMatchObject({ state: 'complete', succeeded: fails ? 0 : 1, failed: fails ? 1 : 0 });
    }
  });

  it.each(['mark', 'record'] as const)('is settled when no more than the %s is lost', async (away) => {
    const { first, second, batch } = await childOf(true, [away]);
    expect(first).toMatchObject({ outcome: 'dead-lettered' });
    expect(second).toBeUndefined();
    expect(batch).toMatchObject({ state: 'complete', failed: 1 });
  });
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

it.each([
  ['changed', (plan: string) => plan.replace('orders', 'others')],
  ['written without a signature', (plan: string) => JSON.stringify({ text: JSON.parse(plan).text })],
])('a plan that somebody has %s in the store calls nothing', async (_, forged) => {
  const { client, drain, calls, row, ends, app } = shop();
  const errors: string[] = [];
  app.events.on((event) => {
    if (event.type === 'backend.failed') errors.push(event.error.code);
  });
  const store = client.stores.batches!;
  const { get } = store;
  const forge = async (id: string) => {
    const state = await get(id);
    return state && { ...state, plan: forged(state.plan) };
  };
  Object.assign(store, { get: forge });
  await client.batch('orders', items(2), { job: row, ...ends });
  await drain();
  expect(calls).toEqual([]);
  expect(errors).toEqual(['SIGNATURE']);
});
