import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { defineJob, fixed, type TransactionContext } from '../../../core/index.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { heldTimers } from '../../kit/clocks.ts';
import { until } from '../../kit/until.ts';
import { anything, type Bench, createStage, plain } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

const write = (ctx: TransactionContext, name: string) =>
  ctx.tx.query('INSERT INTO effects (name) VALUES ($1)', [name]);

type Definition = JobDefinition<typeof anything, unknown, true>;

/** A job with a transaction, retried at once. */
const inTransaction = (handle: Definition['handle'], more: Partial<Definition> = {}) =>
  defineJob({ name: 'work', payload: anything, transaction: true, retry: fixed(0), handle, ...more });

/** A point where a handler waits for the test and the test for the handler. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass: () => {
      reached.resolve();
      return opened.promise;
    },
  };
}

/** Every connection is back in the pool, and none of them is in a transaction. */
async function expectPoolAtRest({ pool, client }: Bench): Promise<void> {
  await client.status('any'); // goes through the pool, after whatever waits there
  await until(() => pool.totalCount - pool.idleCount <= 1); // one listens
  expect(pool.waitingCount).toBe(0);
  const open = await stage.rows(
    "SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
  );
  expect(open).toEqual([]);
}

describe("a handler's transaction", () => {
  it('commits its writes, the ack and the idempotency key as one', async () => {
    const mid = gate();
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, 'paid');
        await mid.pass();
      },
      { idempotencyKey: () => 'invoice-7' },
    );
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    const worker = bench.start({ untilIdle: true });
    await mid.reached;
    expect(await stage.effects()).toEqual([]);
    expect(await bench.client.status(id)).toMatchObject({ status: 'processing' });
    mid.open();
    expect((await worker.done).counts.acked).toBe(1);
    const [same] = await stage.rows(
      `SELECT h.xmin = e.xmin AS ack, k.xmin = e.xmin AS key, k.done FROM effects e, ${bench.schema}.history h, ${bench.schema}.keys k
       WHERE h.id = $1`,
      [id],
    );
    expect(same).toEqual({ ack: true, key: true, done: true });
    await bench.client.enqueue(work, 2);
    expect((await bench.start({ untilIdle: true }).done).counts['skipped-idempotent']).toBe(1);
    expect(await stage.effects()).toEqual(['paid']);
    await expectPoolAtRest(bench);
  });

  it('is undone when the handler throws, and the next attempt has one of its own', async () => {
    const work = inTransaction(async (_, ctx) => {
      await write(ctx, `attempt ${ctx.attempt}`);
      if (ctx.attempt < 3) throw new Error('not yet');
    });
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect(await stage.effects()).toEqual(['attempt 3']);
    const record = (await bench.client.status(id))!;
    expect(record.attempts.map(({ outcome }) => outcome)).toEqual(['requeued', 'requeued', 'acked']);
    await expectPoolAtRest(bench);
  });

  it('is undone when a statement fails, whatever the last attempt was', async () => {
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, 'never');
        await ctx.tx.query('INSERT INTO effects (name) VALUES (NULL)');
      },
      { maxRetries: 1, idempotencyKey: () => 'k' },
    );
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect(await stage.effects()).toEqual([]);
    const [dead] = await bench.backend.admin!.deadLetters.list({});
    expect(dead).toMatchObject({ reason: 'exhausted', attempt: 2 });
    expect(dead!.error).toContain('null value in column "name"');
    expect(await stage.rows(`SELECT FROM ${bench.schema}.keys`)).toEqual([]);
    await expectPoolAtRest(bench);
  });

  it('fails the attempt when it cannot be committed, though the handler has returned', async () => {
    await stage.rows('CREATE TABLE once (name text UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, `attempt ${ctx.attempt}`);
        if (ctx.attempt === 1) await ctx.tx.query('SELECT 1 / 0').catch(() => {}); // takes no notice
        if (ctx.attempt === 2) await ctx.tx.query("INSERT INTO once VALUES ('same'), ('same')");
      },
      { idempotencyKey: () => 'k' },
    );
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect(await stage.effects()).toEqual(['attempt 3']);
    const { attempts } = (await bench.client.status(id))!;
    expect(attempts.map(({ outcome, error }) => [outcome, error?.code])).toEqual([
      ['requeued', 'HANDLER'],
      ['requeued', 'HANDLER'],
      ['acked', undefined],
    ]);
    expect(attempts.map(({ error }) => error?.message ?? '').join()).toMatch(/is aborted.*once_name_key/);
    expect(bench.eventsOf('backend.failed')).toEqual([]);
    await expectPoolAtRest(bench);
    await stage.rows('DROP TABLE once');
  });

  it('leaves a key in another store open when it does not commit', async () => {
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, `attempt ${ctx.attempt}`);
        if (ctx.attempt === 1) await ctx.tx.query('SELECT 1 / 0').catch(() => {});
      },
      { idempotencyKey: () => 'k' },
    );
    const bench = await stage.bench([work]);
    const store = memory().stores!;
    await bench.client.enqueueMany(work, [1, 2]);
    const ended = { acked: 0, 'skipped-idempotent': 0 };
    // A worker may find nothing ready while the second job waits for the key.
    await until(async () => {
      const settings = { untilIdle: true, concurrency: 1, store: { keys: store.keys } };
      const { counts } = await bench.start(settings).done;
      ended.acked += counts.acked;
      ended['skipped-idempotent'] += counts['skipped-idempotent'];
      return ended.acked + ended['skipped-idempotent'] === 2;
    });
    expect(ended).toEqual({ acked: 1, 'skipped-idempotent': 1 });
    expect(await stage.effects()).toHaveLength(1);
  });

  it('has savepoints, and takes statements at the same time', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on('warning', warned);
    const work = inTransaction(async (_, ctx) => {
      await Promise.all(['a', 'b', 'c'].map((name) => write(ctx, name)));
      await ctx.tx.query('SAVEPOINT risky');
      await expect(ctx.tx.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
      await ctx.tx.query('ROLLBACK TO SAVEPOINT risky');
      void write(ctx, 'not waited for');
    });
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1);
    expect((await bench.start({ untilIdle: true }).done).counts.acked).toBe(1);
    expect(await stage.effects()).toEqual(['a', 'b', 'c', 'not waited for']);
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });

  it('takes the jobs that are enqueued with it', async () => {
    const work = inTransaction(async (_, ctx) => {
      await ctx.enqueue(plain, `attempt ${ctx.attempt}`, { tx: ctx.tx });
      await ctx.enqueue(plain, 'apart');
      if (ctx.attempt === 1) throw new Error('not yet');
    });
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1, { queue: 'first' });
    await bench.start({ untilIdle: true, queues: ['first'] }).done;
    const leases = await bench.backend.fetch({ queues: ['default'], max: 9, leaseMs: 60_000, waitMs: 0 });
    expect(leases.map(({ body }) => JSON.parse(body).payload)).toEqual(['apart', 'attempt 2', 'apart']);
  });

  it.each([
    'COMMIT',
    '  rollback',
    'END',
    '-- so\n/* or so */ Begin',
    'ROLLBACK AND CHAIN',
    'start  transaction',
    "PREPARE TRANSACTION 'x'",
    'abort work',
  ])('is not ended by the handler: %j', async (text) => {
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, 'never');
        await ctx.tx.query(text);
      },
      { maxRetries: 0 },
    );
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    const [dead] = await bench.backend.admin!.deadLetters.list({});
    expect(dead!.error).toMatch(/^OPTION: Expected statements between BEGIN and COMMIT, got /);
    expect(await stage.effects()).toEqual([]);
  });
});

describe('an attempt that ends before its handler', () => {
  it('at its timeout takes the connection and the statement under way with it', async () => {
    const after = Promise.withResolvers<unknown>();
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, 'never');
        await ctx.tx.query('SELECT pg_sleep(601)').catch(() => {});
        await ctx.tx
          .query("INSERT INTO effects (name) VALUES ('too late')")
          .then(after.resolve, after.resolve);
      },
      { timeoutMs: 3_600_000, maxRetries: 0 },
    );
    const clock = heldTimers();
    const bench = await stage.bench([work], { appClock: clock });
    await bench.client.enqueue(work, 1);
    const worker = bench.start({ untilIdle: true });
    const sleeping =
      "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(601)%'";
    await until(async () => (await stage.rows(sleeping)).length === 1);
    clock.fire();
    await worker.done;
    expect(await after.promise).toMatchObject({ code: 'LEASE_LOST' });
    expect(await bench.backend.admin!.deadLetters.list({})).toMatchObject([{ reason: 'exhausted' }]);
    await until(async () => (await stage.rows(sleeping)).length === 0);
    expect(await stage.effects()).toEqual([]);
    await expectPoolAtRest(bench);
  });

  it('between two statements leaves it nothing to write in', async () => {
    const mid = gate();
    const after = Promise.withResolvers<unknown>();
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, 'never');
        await mid.pass();
        await write(ctx, 'too late').then(after.resolve, after.resolve);
      },
      { timeoutMs: 3_600_000, maxRetries: 0 },
    );
    const clock = heldTimers();
    // The one connection that is not spared: the next job gets the very same.
    const bench = await stage.bench([work], { connections: 3, appClock: clock });
    await bench.client.enqueue(work, 1);
    const worker = bench.start({ untilIdle: true });
    await mid.reached;
    clock.fire();
    await worker.done;
    const next = inTransactionOf(bench);
    mid.open();
    expect(await after.promise).toMatchObject({ code: 'LEASE_LOST' });
    expect(await (await next).sql.query('SELECT count(*)::int AS n FROM effects')).toMatchObject({
      rows: [{ n: 0 }],
    });
    await (await next).rollback();
    await expectPoolAtRest(bench);
  });

  it('because its lease was taken commits nothing', async () => {
    const mid = gate();
    const work = inTransaction(
      async (_, ctx) => {
        await write(ctx, `attempt ${ctx.attempt}`);
        if (ctx.attempt === 1) await mid.pass();
      },
      { idempotencyKey: () => 'k' },
    );
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    const worker = bench.start({ maxJobs: 1, renew: false, leaseMs: 400_000 });
    await mid.reached;
    for (const table of ['leases', 'renewals'])
      await stage.rows(`UPDATE ${bench.schema}.${table} SET until = 0`);
    await stage.rows(`UPDATE ${bench.schema}.keys SET hold_until = 0`);
    expect(await bench.backend.reapExpired('default')).toBe(1);
    await bench.start({ untilIdle: true }).done; // which is another worker
    expect(await stage.effects()).toEqual(['attempt 2']);
    mid.open();
    await worker.done;
    expect(bench.eventsOf('job.settled').map(({ attempt, settled }) => [attempt, settled])).toEqual([
      [2, true],
      [1, false],
    ]);
    expect(await stage.effects()).toEqual(['attempt 2']);
    expect(await bench.client.status(id)).toMatchObject({ status: 'completed' });
    await expectPoolAtRest(bench);
  });

  it('because a renewal was refused undoes it at once', async () => {
    const mid = gate();
    const after = Promise.withResolvers<unknown>();
    const work = inTransaction(async (_, ctx) => {
      if (ctx.attempt > 1) return;
      await write(ctx, 'never');
      await mid.pass();
      await write(ctx, 'too late').then(after.resolve, after.resolve);
    });
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1);
    const worker = bench.start({ maxJobs: 1, leaseMs: 600 });
    await mid.reached;
    for (const table of ['leases', 'renewals'])
      await stage.rows(`UPDATE ${bench.schema}.${table} SET until = 0`);
    await worker.done;
    mid.open();
    expect(await after.promise).toMatchObject({ code: 'LEASE_LOST' });
    expect(bench.eventsOf('job.settled')).toMatchObject([{ settled: false, outcome: 'requeued' }]);
    expect(await stage.effects()).toEqual([]);
    await expectPoolAtRest(bench);
  });

  it('because the worker stops is released without a trace', async () => {
    const started = gate();
    const work = inTransaction(async (payload, ctx) => {
      await write(ctx, payload);
      void started.pass();
      if (payload === 'quick') return;
      await new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
      });
    });
    const bench = await stage.bench([work]);
    await bench.client.enqueueMany(work, ['quick', 'slow']);
    const worker = bench.start();
    await started.reached;
    await until(async () => (await stage.effects()).length === 1);
    const summary = await worker.stop();
    expect(summary).toMatchObject({ released: 1, counts: { acked: 1, requeued: 1 } });
    expect(await stage.effects()).toEqual(['quick']);
    expect(await bench.counts()).toEqual([1, 0, 0, 0]);
    await expectPoolAtRest(bench);
  });

  it('because its connection was killed fails like any other', async () => {
    const work = inTransaction(async (_, ctx) => {
      await write(ctx, `attempt ${ctx.attempt}`);
      if (ctx.attempt > 1) return;
      const { rows } = await ctx.tx.query('SELECT pg_backend_pid() AS pid');
      await stage.rows('SELECT pg_terminate_backend($1)', [(rows[0] as { pid: number }).pid]);
      await write(ctx, 'never');
    });
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect(await stage.effects()).toEqual(['attempt 2']);
    expect((await bench.client.status(id))!.attempts).toMatchObject([
      { outcome: 'requeued', error: { code: 'HANDLER' } },
      { outcome: 'acked' },
    ]);
    await expectPoolAtRest(bench);
  });
});

/** A transaction for the next job of the default queue. */
async function inTransactionOf({ backend }: Bench) {
  return backend.begin!();
}

describe('more handlers than connections', () => {
  it('take turns, while their leases are renewed and they enqueue other jobs', async () => {
    const work = inTransaction(async (n, ctx) => {
      await write(ctx, `job ${n}`);
      await ctx.enqueue(plain, n, { queue: 'apart' });
      await ctx.tx.query('SELECT pg_sleep(0.7)'); // longer than a lease without renewal
    });
    const bench = await stage.bench([work], { connections: 4 });
    const numbers = Array.from({ length: 8 }, (_, n) => n);
    await bench.client.enqueueMany(work, numbers);
    const { counts } = await bench.start({
      untilIdle: true,
      queues: ['default'],
      concurrency: 8,
      leaseMs: 500,
    }).done;
    expect(counts.acked).toBe(8);
    expect(bench.eventsOf('job.settled').map(({ attempt }) => attempt)).toEqual(numbers.map(() => 1));
    expect((await stage.effects()).toSorted()).toEqual(numbers.map((n) => `job ${n}`));
    expect((await bench.backend.admin!.stats('apart'))[0]!.ready).toBe(8);
    await expectPoolAtRest(bench);
  });
});
