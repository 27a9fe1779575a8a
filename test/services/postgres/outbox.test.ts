import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { outbox, postgres, startRelay } from '../../../local/backends/postgres/index.ts';
import { schemaVersion } from '../../../local/backends/postgres/schema.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { message } from '../sqlite/messages.ts';
import { type Bench, createBench, emptied } from './outbox-kit.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench.close());

const many = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, i) => message({ id: `${prefix}${i}` }));

describe('what is enqueued in a transaction', () => {
  it('is moved after the commit, and not before', async () => {
    const box = bench.open();
    bench.relay(box);
    await bench.transaction(async (tx) => {
      const results = await box.enqueueIn(tx, many(3));
      expect(results).toEqual(many(3).map(({ id }) => ({ ok: true, id, duplicate: false })));
      // Committed later than the first three, and moved while these are not committed yet.
      await box.enqueue([message({ id: 'other' })]);
      await expect.poll(bench.arrived).toEqual(['other']);
    });
    await expect.poll(bench.arrived).toEqual(['other', 'm0', 'm1', 'm2']);
    await emptied(box);
    expect(bench.events).toEqual([]);
  });

  it('never existed after a rollback', async () => {
    const box = bench.open();
    const tx = await bench.pool.connect();
    await tx.query('BEGIN');
    await box.enqueueIn(tx, many(3));
    await tx.query('ROLLBACK');
    tx.release();
    expect(await box.backlog()).toEqual({ waiting: 0, oldestMs: null, refused: 0 });
    await box.enqueue([message({ id: 'after' })]);
    bench.relay(box);
    await emptied(box);
    expect(await bench.arrived()).toEqual(['after']);
  });

  it('is refused when there is no transaction, and then nothing was written', async () => {
    const box = bench.open();
    const client = await bench.pool.connect();
    const adapter = { query: (sql: string, values: unknown[] = []) => client.query(sql, values) };
    for (const tx of [client, adapter, bench.pool]) {
      await expect(box.enqueueIn(tx, many(1))).rejects.toMatchObject({ code: 'OPTION' });
    }
    expect((await box.backlog()).waiting).toBe(0);
    // The adapter does not say whether a transaction is open, and is believed all the same when one is.
    await client.query('BEGIN');
    await box.enqueueIn(adapter, many(1));
    await box.enqueueIn(adapter, many(1));
    await client.query('COMMIT');
    client.release();
    expect((await box.backlog()).waiting).toBe(2);
  });

  it('needs no connection but its own, also the first time, and its relay one', async () => {
    const pool = new pg.Pool({ connectionString: bench.url, max: 1 });
    await bench.open().migrate!();
    const box = outbox(postgres({ pool }), { to: memory() });
    const tx = await pool.connect();
    await tx.query('BEGIN');
    await box.enqueueIn(tx, many(1));
    await tx.query('COMMIT');
    tx.release();
    expect((await box.backlog()).waiting).toBe(1);
    startRelay(box);
    await emptied(box);
    await box.close();
    await pool.end();
  });

  it('arrives as it was, whatever its characters', async () => {
    let got: readonly OutgoingMessage[] = [];
    const box = bench.open((to) => ({
      ...to,
      enqueue: (messages) => {
        got = messages;
        return to.enqueue(messages);
      },
    }));
    const odd = message({
      id: 'odd',
      job: 'ü',
      body: '\0 "quoted" \\u0000 \ud800 \u2028 💡',
      priority: 9,
      notBefore: Date.now() + 60_000,
      group: 'a\0b',
      tenantId: "o'hara",
    });
    await bench.transaction((tx) => box.enqueueIn(tx, [odd]));
    bench.relay(box);
    await emptied(box);
    expect(got).toEqual([odd]);
    expect((await bench.file.admin!.stats('default'))[0]).toMatchObject({ delayed: 1, ready: 0 });
  });

  it('is refused at once when the target would refuse it, and its neighbours are not', async () => {
    const limits = { maxBodyBytes: 1_000, maxDelayMs: 900_000, maxLeaseMs: null };
    const box = bench.open((to) => ({ ...to, limits }));
    expect(box.limits).toEqual(limits);
    const large = message({ id: 'large', body: 'é'.repeat(501) });
    const late = message({ id: 'late', notBefore: Date.now() + 1_000_000 });
    const fits = message({ id: 'fits', body: 'é'.repeat(500), notBefore: Date.now() + 800_000 });
    const results = await bench.transaction((tx) => box.enqueueIn(tx, [large, late, fits]));
    expect(results).toMatchObject([
      { ok: false, id: 'large', error: { code: 'LIMIT' } },
      { ok: false, id: 'late', error: { code: 'LIMIT' } },
      { ok: true, id: 'fits' },
    ]);
    expect((await box.backlog()).waiting).toBe(1);
  });
});

describe('outbox()', () => {
  it('gives a worker on the target the signed job, with the id that enqueue() returned', async () => {
    const ran: { id: string; n: number }[] = [];
    const job = defineJob({
      name: 'count',
      payload: z.object({ n: z.number() }),
      handle: ({ n }, ctx) => void ran.push({ id: ctx.id, n }),
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const app = createApp({ jobs: [job], signing });
    const box = bench.open();
    const client = connect(app, box);
    const { id } = await bench.transaction(async (tx) => {
      await tx.query('CREATE TABLE orders (n int)');
      await tx.query('INSERT INTO orders VALUES (1)');
      return client.enqueue(job, { n: 1 }, { tx });
    });
    const { id: second } = await client.enqueue(job, { n: 2 });
    expect((await client.status(id))!.status).toBe('pending'); // the target does not know it yet

    bench.relay(box);
    await emptied(box);
    await startWorker(app, { backend: bench.file, untilIdle: true }).done;
    expect(ran).toEqual([
      { id, n: 1 },
      { id: second, n: 2 },
    ]);
    expect((await client.status(id))!.status).toBe('completed');
    expect(await box.admin!.deadLetters.list({})).toEqual([]);
  });

  it('keeps the rows of several targets apart', async () => {
    const source = postgres(bench.url);
    const targets = [memory(), memory()];
    const boxes = targets.map((to, i) => outbox(source, { to, name: `memory-${i}` }));
    await Promise.all(boxes.map((box, i) => box.enqueue(many(20, `t${i}-`))));
    for (const box of boxes) startRelay(box);
    for (const box of boxes) await emptied(box);
    for (const [i, to] of targets.entries()) {
      const ids = (await to.admin!.peek('default', 100)).map(({ id }) => id);
      expect(ids).toEqual(many(20, `t${i}-`).map(({ id }) => id));
    }
    for (const box of boxes) await box.close();
  });

  it('reports a database that is away as one error per message', async () => {
    const source = postgres('postgres://nobody:nothing@127.0.0.1:1/none');
    const box = outbox(source, { to: memory() });
    expect(await box.enqueue(many(2))).toMatchObject([
      { ok: false, id: 'm0', error: { code: 'BACKEND' } },
      { ok: false, id: 'm1', error: { code: 'BACKEND' } },
    ]);
    await box.close();
  });

  it('says how long the first row has waited', async () => {
    const box = bench.open();
    await box.enqueue(many(2));
    await bench.pool.query('UPDATE longshore.outbox SET written_at = written_at - 60000 WHERE seq = 1');
    const { waiting, oldestMs } = await box.backlog();
    expect(waiting).toBe(2);
    expect(oldestMs).toBeGreaterThanOrEqual(60_000);
    expect(oldestMs).toBeLessThan(120_000);
  });

  it('brings the tables of both up to date', async () => {
    const box = outbox(postgres({ url: bench.url, schema: 'fresh' }), { to: memory() });
    const to = schemaVersion;
    expect(await box.migrate!()).toEqual({ from: null, to });
    expect(await box.migrate!()).toEqual({ from: to, to });
    await box.close();
  });

  it('refuses what is no source, and a name that is none', () => {
    const source = sqlite(':memory:');
    // @ts-expect-error no outbox
    expect(() => outbox(source, { to: memory() })).toThrow(
      /expects a backend with an outbox as its first argument/,
    );
    const box = bench.open();
    expect(() => outbox(box.source, { to: memory(), name: 'a b' })).toThrow(/got "a b"/);
    expect(() => startRelay(box, { batchSize: 0 })).toThrow(/batchSize/);
  });
});
