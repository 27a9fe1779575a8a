import pg from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { connect, defineJob } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { refusal } from '../../unit/core/kit.ts';
import { message } from '../sqlite/messages.ts';
import { anything, createStage, plain } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

const request = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 0 };

describe('enqueue in a transaction', () => {
  it('happens when it commits, not before, and together with its other writes', async () => {
    const { client, counts, schema } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    await tx.query("INSERT INTO effects (name) VALUES ('order 1')");
    const { id } = await client.enqueue(plain, { order: 1 }, { tx });
    expect(await client.status(id)).toBe(null);
    expect(await counts()).toEqual([0, 0, 0, 0]);
    await tx.query('COMMIT');
    expect(await client.status(id)).toMatchObject({ status: 'pending', queue: 'default' });
    expect(await counts()).toEqual([1, 0, 0, 0]);
    const [same] = await stage.rows(
      `SELECT e.xmin = j.xmin AS one FROM effects e, ${schema}.jobs j WHERE j.id = $1`,
      [id],
    );
    expect(same).toEqual({ one: true });
  });

  it('never was when it rolls back', async () => {
    const { client, backend, schema } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    const { id } = await client.enqueue(plain, 1, { tx });
    await client.enqueue(plain, 2, { tx, delayMs: 60_000, queue: 'other' });
    await tx.query('ROLLBACK');
    expect(await client.status(id)).toBe(null);
    const nothing = { ready: 0, delayed: 0, leased: 0, dead: 0 };
    for (const stats of await backend.admin!.stats()) expect(stats).toMatchObject(nothing);
    expect(await stage.rows(`SELECT FROM ${schema}.jobs`)).toEqual([]);
  });

  it('holds nobody up who enqueues in the same new queue', async () => {
    const { client, backend } = await stage.bench();
    const [one, other] = [await stage.client(), await stage.client()];
    for (const tx of [one, other]) await tx.query('BEGIN');
    await client.enqueue(plain, 1, { tx: one, queue: 'a' });
    await client.enqueue(plain, 2, { tx: other, queue: 'b' });
    await client.enqueue(plain, 3, { tx: one, queue: 'b' });
    await client.enqueue(plain, 4, { tx: other, queue: 'a' });
    await client.enqueue(plain, 5, { queue: 'a' });
    for (const tx of [one, other]) await tx.query('COMMIT');
    await until(async () => (await backend.admin!.stats()).length === 2); // listed a moment later
    expect(await backend.admin!.stats()).toMatchObject([
      { queue: 'a', ready: 3 },
      { queue: 'b', ready: 2 },
    ]);
  });

  it('never was when the connection is lost before the commit', async () => {
    const { client, counts } = await stage.bench();
    const tx = new pg.Client(stage.url);
    tx.on('error', () => {});
    await tx.connect();
    await tx.query('BEGIN');
    await client.enqueue(plain, 1, { tx });
    await stage.rows('SELECT pg_terminate_backend($1)', [(tx as unknown as { processID: number }).processID]);
    await expect(tx.query('COMMIT')).rejects.toThrow();
    expect(await counts()).toEqual([0, 0, 0, 0]);
    await tx.end();
  });

  it('goes back with its savepoint', async () => {
    const { client } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    const kept = await client.enqueue(plain, 'kept', { tx });
    await tx.query('SAVEPOINT inner_part');
    const gone = await client.enqueue(plain, 'gone', { tx });
    await tx.query('ROLLBACK TO SAVEPOINT inner_part');
    const after = await client.enqueue(plain, 'after', { tx });
    await tx.query('COMMIT');
    const statuses = await Promise.all([kept, gone, after].map(({ id }) => client.status(id)));
    expect(statuses.map((record) => record?.status ?? null)).toEqual(['pending', null, 'pending']);
  });

  it('takes several jobs and lists, in order, with what is wrong in one told for that one', async () => {
    const strict = defineJob({ name: 'strict', payload: anything, maxRetries: 0, handle: () => {} });
    const { client, backend } = await stage.bench([strict]);
    const tx = await stage.client();
    await tx.query('BEGIN');
    const first = await client.enqueue(strict, 0, { tx });
    const results = await client.enqueueMany(plain, [1, 'x'.repeat(1_100_000), 3], { tx });
    const many = await client.enqueueMany(
      plain,
      Array.from({ length: 1_200 }, (_, n) => n),
      { tx },
    );
    await tx.query('COMMIT');
    expect(results.map((result) => result.ok || result.error.code)).toEqual([true, 'LIMIT', true]);
    expect(many.filter(({ ok }) => ok)).toHaveLength(1_200);
    const leases = await backend.fetch({ ...request, max: 2_000 });
    const order = leases.map(({ body }) => (JSON.parse(body) as { identifier: string }).identifier);
    expect(order).toEqual([first.id, results[0]!.id, results[2]!.id, ...many.map(({ id }) => id)]);
  });

  it('keeps delays, priorities and tenants', async () => {
    const { client, counts, backend } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    const later = await client.enqueue(plain, 1, { tx, delayMs: 3_600_000 });
    await client.enqueue(plain, 2, { tx, priority: 'low' });
    const urgent = await client.enqueue(plain, 3, { tx, priority: 'critical', context: { tenantId: 't' } });
    await tx.query('COMMIT');
    expect(await counts()).toEqual([2, 1, 0, 0]);
    const record = (await client.status(later.id))!;
    expect(record.runAt - record.createdAt).toBeGreaterThan(3_590_000);
    expect((await backend.admin!.peek('default', 9)).map(({ priority }) => priority)).toEqual([0, 8, 5]);
    expect(await client.status(urgent.id)).toMatchObject({ tenantId: 't', priority: 0 });
  });

  it('drops second copies of an id, and says which', async () => {
    const { backend } = await stage.bench();
    const tx = await stage.client();
    await backend.enqueue([message({ id: 'known' }), message({ id: 'ended' })]);
    const leases = await backend.fetch(request);
    await backend.ack([{ lease: leases[1]! }]);
    await tx.query('BEGIN');
    const ids = ['new', 'known', 'new', 'ended', 'last'];
    const results = await backend.enqueueIn!(
      tx,
      ids.map((id) => message({ id })),
    );
    expect(results.map((result) => result.ok && result.duplicate)).toEqual([false, true, true, true, false]);
    expect(await backend.enqueueIn!(tx, [message({ id: 'new' })])).toMatchObject([{ duplicate: true }]);
    await tx.query('COMMIT');
    expect((await backend.admin!.peek('default', 9)).map(({ id }) => id)).toEqual(['new', 'last']);
  });

  it('wakes a waiting worker at the commit, without polling', async () => {
    // No time passes for these two, so nothing but a notification can end the wait.
    const clock = createVirtualClock();
    const { backend, client, schema } = await stage.bench([], { clock });
    let woken = false;
    const waiting = backend.fetch({ ...request, waitMs: 3_600_000 }).finally(() => {
      woken = true;
    });
    const listening = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE $1`;
    await until(async () => (await stage.rows(listening, [`LISTEN "longshore ${schema}"%`])).length > 0);
    const tx = await stage.client();
    await tx.query('BEGIN');
    const { id } = await client.enqueue(plain, 1, { tx });
    expect(await backend.admin!.peek('default', 9)).toEqual([]); // a round trip later
    expect(woken).toBe(false);
    await tx.query('COMMIT');
    expect((await waiting).map(({ body }) => JSON.parse(body).identifier)).toEqual([id]);
  });

  it('brings any text through unchanged, U+0000 included', async () => {
    const payload = { text: 'a\u0000b \\u0000 \' " \\ $1 $$ \u2028 🚢 \ud800', 'ke\u0000y': [null, 1e21] };
    const seen: unknown[] = [];
    const look = defineJob({ name: 'look', payload: anything, handle: (got) => void seen.push(got) });
    const { client, start } = await stage.bench([look]);
    const tx = await stage.client();
    await tx.query('BEGIN');
    await client.enqueue(look, payload, { tx });
    await tx.query('COMMIT');
    await start({ untilIdle: true }).done;
    expect(seen).toEqual([JSON.parse(JSON.stringify(payload))]);
  });

  it('refuses a body that Postgres cannot hold or that is too large, and stores its neighbours', async () => {
    const { backend } = await stage.bench([], { maxBodyBytes: 100 });
    const tx = await stage.client();
    await tx.query('BEGIN');
    const bodies = ['{}', 'a\u0000b', 'x'.repeat(101), 'ü'.repeat(51), 'ü'.repeat(50)];
    const results = await backend.enqueueIn!(
      tx,
      bodies.map((body, i) => message({ id: `m${i}`, body })),
    );
    await tx.query('COMMIT');
    expect(results.map((result) => result.ok || result.error.code)).toEqual([
      true,
      'OPTION',
      'LIMIT',
      'LIMIT',
      true,
    ]);
    expect((await backend.fetch(request)).map(({ body }) => body)).toEqual(['{}', 'ü'.repeat(50)]);
  });

  it.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'])('works in a %s one', async (level) => {
    const { client, counts } = await stage.bench();
    const tx = await stage.client();
    await tx.query(`BEGIN ISOLATION LEVEL ${level}`);
    await tx.query('SELECT count(*) FROM effects');
    await client.enqueue(plain, 1, { tx });
    await tx.query('COMMIT');
    expect(await counts()).toEqual([1, 0, 0, 0]);
  });

  it('needs no connection but its own, even at its first use', async () => {
    const { pool, client, counts } = await stage.bench([], { connections: 2 });
    const all = await Promise.all([pool.connect(), pool.connect()]);
    for (const tx of all) {
      await tx.query('BEGIN');
      await client.enqueue(plain, 1, { tx });
      await tx.query('COMMIT');
    }
    for (const tx of all) tx.release();
    expect(await counts()).toEqual([2, 0, 0, 0]);
  });

  it('makes the tables at its first use, where it may', async () => {
    const { app } = await stage.bench();
    const backend = postgres({ url: stage.url, schema: 'made_inside' });
    const client = connect(app, backend);
    const tx = await stage.client();
    await tx.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await tx.query('SELECT count(*) FROM effects');
    const { id } = await client.enqueue(plain, 1, { tx });
    await tx.query('COMMIT');
    expect(await client.status(id)).toMatchObject({ status: 'pending' });
    await client.close();
  });
});

describe('a tx that cannot be used', () => {
  it('is one outside a transaction: nothing is stored', async () => {
    const { client, pool, counts } = await stage.bench();
    const idle = await stage.client();
    const ended = await stage.client();
    await ended.query('BEGIN');
    await ended.query('COMMIT');
    const plainObject = { query: (text: string, values?: unknown[]) => idle.query(text, values) };
    for (const tx of [idle, ended, plainObject, pool]) {
      for (let i = 0; i < 20; i++) {
        const { code, message: text } = await refusal(() => client.enqueue(plain, i, { tx }));
        expect(code).toBe('OPTION');
        expect(text).toBe(
          'Expected tx to be in a transaction, got one outside. Pass it between BEGIN and COMMIT.',
        );
      }
    }
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  it('is one in which a statement has failed', async () => {
    const { client, counts } = await stage.bench();
    const tx = await stage.client();
    for (const used of [false, true]) {
      await tx.query('BEGIN');
      if (used) await client.enqueue(plain, 0, { tx });
      await expect(tx.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
      const { code, message: text } = await refusal(() => client.enqueue(plain, 1, { tx }));
      expect(code).toBe('OPTION');
      expect(text).toContain('current transaction is aborted');
      expect(text).toContain('Roll the transaction back');
      await tx.query('COMMIT'); // which Postgres answers with a rollback
    }
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  it('is a read-only one', async () => {
    const { client } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN READ ONLY');
    expect((await refusal(() => client.enqueue(plain, 1, { tx }))).code).toBe('READ_ONLY');
    await tx.query('ROLLBACK');
  });

  it('is one whose connection has ended', async () => {
    const { client } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    await tx.end();
    expect((await refusal(() => client.enqueue(plain, 1, { tx }))).code).toBe('BACKEND');
  });

  it.each([[7], ['BEGIN'], [null], [{}], [{ query: 'no' }]])('is no transaction at all: %j', async (tx) => {
    const { client, counts } = await stage.bench();
    const { code, message: text } = await refusal(() => client.enqueue(plain, 1, { tx: tx as never }));
    expect(code).toBe('OPTION');
    expect(text).toContain('Expected tx to be a transaction with a query method');
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  it('is any on a backend without a database to share', async () => {
    const { app } = await stage.bench();
    const tx = await stage.client();
    await tx.query('BEGIN');
    for (const backend of [memory(), sqlite(':memory:')]) {
      const client = connect(app, backend);
      const { code, message: text } = await refusal(() => client.enqueue(plain, 1, { tx }));
      expect(code).toBe('CONFIG');
      expect(text).toContain(`Backend "${backend.name}" is not in a database`);
      expect((await backend.admin!.stats('default'))[0]?.ready ?? 0).toBe(0);
      await client.close();
    }
    await tx.query('ROLLBACK');
  });

  it('leaves the transaction usable where only the tables are missing', async () => {
    const { app } = await stage.bench();
    const client = connect(app, postgres({ url: stage.url, schema: 'nowhere', migrate: false }));
    const tx = await stage.client();
    await tx.query('BEGIN');
    expect((await refusal(() => client.enqueue(plain, 1, { tx }))).code).toBe('SCHEMA_VERSION');
    await tx.query("INSERT INTO effects (name) VALUES ('still there')");
    await tx.query('COMMIT');
    expect(await stage.effects()).toEqual(['still there']);
    await client.close();
  });
});
