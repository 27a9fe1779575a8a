/** Steps that share a transaction with what they write. */

import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { logIn, nameOfJob, namesOf, readPieces } from '../../../core/features/steps/stored.ts';
import { connect, defineJob, fixed, type HandlerContext } from '../../../core/index.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { postgresStore } from '../../../local/backends/postgres/index.ts';
import { heldTimers } from '../../kit/clocks.ts';
import { until } from '../../kit/until.ts';
import { anything, createStage, plain } from './transactions-kit.ts';

const stage = await createStage();
afterEach(() => stage.clear());
afterAll(() => stage.drop());

type Handle = JobDefinition<typeof anything>['handle'];

const durable = (handle: Handle, more: Partial<JobDefinition<typeof anything>> = {}) =>
  defineJob({ name: 'work', payload: anything, retry: fixed(0), handle, ...more });

const write = (ctx: HandlerContext, name: string, then = async (): Promise<unknown> => name) =>
  ctx.step(
    name,
    async ({ tx }) => {
      await tx.query('INSERT INTO effects (name) VALUES ($1)', [name]);
      return then();
    },
    { transaction: true },
  );

describe('a step with a transaction', () => {
  it('commits what it writes, what it enqueues and its memory as one, and is not done again', async () => {
    const work = durable(async (_, ctx) => {
      const got = await ctx.step(
        'pay',
        async ({ tx, idempotencyKey }) => {
          await tx.query('INSERT INTO effects (name) VALUES ($1)', [idempotencyKey]);
          await ctx.enqueue(plain, null, { tx });
          return { paid: true };
        },
        { transaction: true },
      );
      if (ctx.attempt === 1) throw new Error('later');
      return got;
    });
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    const { counts } = await bench.start({ untilIdle: true }).done;
    expect(counts).toMatchObject({ acked: 2, requeued: 1 });
    expect((await bench.client.status(id))?.output).toEqual({ paid: true });
    expect(await stage.effects()).toEqual([`${id}:pay`]);
  });

  it('leaves neither when it throws or returns what cannot be kept, and may be tried again', async () => {
    let tries = 0;
    const work = durable(async (payload, ctx) => {
      const once = () =>
        write(ctx, 'flaky', async () => {
          if (payload === 'function') return () => 1;
          if (payload === 'large') return 'x'.repeat(300_000);
          if (++tries === 1) throw new Error('no');
          return tries;
        });
      return once().catch((error) => (error.message === 'no' ? once() : Promise.reject(error)));
    });
    const bench = await stage.bench([work]);
    const ids = await bench.client.enqueueMany(work, [1, 'function', 'large']);
    await bench.start({ untilIdle: true }).done;
    const records = await Promise.all(ids.map(({ id }) => bench.client.status(id)));
    expect(records.map((record) => record!.output)).toEqual([2, null, null]);
    expect(records.map((record) => record!.reason)).toEqual([null, 'permanent', 'permanent']);
    expect(records[2]!.error).toContain('fit into 261888 bytes');
    expect(await stage.effects()).toEqual(['flaky']);
    await until(() => bench.pool.totalCount - bench.pool.idleCount <= 1);
  });

  it('fails when a statement of it has failed, though it took no notice', async () => {
    const work = durable(
      (_, ctx) =>
        ctx.step('one', ({ tx }) => tx.query('SELECT 1 / 0').then(undefined, () => 'fine'), {
          transaction: true,
        }),
      { maxRetries: 0 },
    );
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect((await bench.client.status(id))?.error).toMatch(
      /^HANDLER: .* was rolled back: current transaction/,
    );
  });

  it('runs beside others, each in a transaction of its own', async () => {
    const work = durable((_, ctx) =>
      Promise.all([write(ctx, 'a'), write(ctx, 'b'), ctx.step('c', () => 'c'), write(ctx, 'd')]),
    );
    const bench = await stage.bench([work]);
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect((await bench.client.status(id))?.output).toEqual(['a', 'b', 'c', 'd']);
    expect((await stage.effects()).toSorted()).toEqual(['a', 'b', 'd']);
  });

  it('is undone when the lease was lost meanwhile, also by a job that asks for no step now', async () => {
    const work = durable((_, ctx) =>
      write(ctx, 'late', async () => {
        const of = `WHERE id = '${ctx.id}'`;
        await stage.rows(`UPDATE "${bench.schema}".jobs SET turn = turn + 1 ${of}`);
      }),
    );
    const bench = await stage.bench([work]);
    await bench.client.enqueue(work, 1);
    bench.start();
    await until(() => bench.eventsOf('job.settled').length > 0);
    expect(bench.eventsOf('job.settled')).toMatchObject([{ settled: false }]);
    expect(await stage.effects()).toEqual([]);
  });

  it('is undone when the time of the attempt is over, and gives its connection back', async () => {
    const clock = heldTimers();
    const reached = Promise.withResolvers<void>();
    const work = durable(
      async (_, ctx) => {
        if (ctx.attempt > 1) return;
        await write(ctx, 'hangs', () => {
          reached.resolve();
          return new Promise(() => {});
        });
      },
      { timeoutMs: 3_600_000 },
    );
    const bench = await stage.bench([work], { appClock: clock });
    await bench.client.enqueue(work, 1);
    const worker = bench.start({ untilIdle: true });
    await reached.promise;
    clock.fire();
    expect((await worker.done).counts).toMatchObject({ requeued: 1, acked: 1 });
    expect(await stage.effects()).toEqual([]);
    await until(() => bench.pool.totalCount - bench.pool.idleCount <= 1);
  });

  it('finds what became of a commit whose answer was lost', async () => {
    let runs = 0;
    const work = durable((_, ctx) => write(ctx, 'pay', async () => ++runs));
    const bench = await stage.bench([work]);
    const { begin } = bench.backend;
    let lost = 0;
    bench.backend.begin = async () => {
      const tx = await begin!();
      const commit: typeof tx.commit = async (...asked) => {
        const answer = await tx.commit(...asked);
        if (lost++ === 0) throw new Error('connection lost');
        return answer;
      };
      return { ...tx, commit };
    };
    const { id } = await bench.client.enqueue(work, 1);
    await bench.start({ untilIdle: true }).done;
    expect((await bench.client.status(id))?.output).toBe(1);
    expect(await stage.effects()).toEqual(['pay']);
  });

  it('is written with its piece or not at all, each time that its commit is rolled back and tried again', async () => {
    const names = Array.from({ length: 60 }, (_, n) => `step ${n}`);
    const works: string[] = [];
    const stored: string[][] = [];
    const work = durable(async (_, ctx) => {
      for (const name of names) {
        const once = () =>
          write(ctx, name, async () => {
            works.push(name);
            return 'x'.repeat(300);
          });
        await once().catch((error) =>
          error.message.includes('rolled back') ? once() : Promise.reject(error),
        );
        if (ctx.attempt === 1 && name === names[40]) {
          stored.push(await piecesOf(ctx.id));
          throw new Error('later');
        }
      }
    });
    const bench = await stage.bench([work]);
    const steps = postgresStore({ pool: bench.pool, schema: bench.schema }).steps!;
    const piecesOf = async (id: string): Promise<string[]> => {
      const { pieces, gone, next } = logIn((await steps.read(nameOfJob(id)))!.text);
      expect(await readPieces(steps, id, pieces)).not.toContain(null);
      return namesOf({ pieces, gone, next } as never);
    };
    const { begin } = bench.backend;
    let commits = 0;
    bench.backend.begin = async () => {
      const tx = await begin!();
      const commit: typeof tx.commit = (lease, last) =>
        tx.commit(lease, async (inside) => {
          const written = await last(inside);
          if (commits++ % 2 === 0) throw new Error('rolled back');
          return written;
        });
      return { ...tx, commit };
    };
    const { id } = await bench.client.enqueue(work, 1);
    const { counts } = await bench.start({ untilIdle: true }).done;
    expect(counts).toMatchObject({ acked: 1, requeued: 1 });
    expect(works).toEqual(names.flatMap((name) => [name, name]));
    expect(await stage.effects()).toEqual(names);
    expect(stored[0]!.length).toBeGreaterThan(1);
    const left = `FROM "${bench.schema}".texts WHERE name LIKE '%${id}%'`;
    expect(await stage.rows(`SELECT name ${left}`)).toEqual([]);
  });

  it('is refused where the queue has no transactions, or does not keep the steps', async () => {
    const work = durable((_, ctx) => write(ctx, 'one'), { maxRetries: 0 });
    const bench = await stage.bench([work]);
    const store = postgresStore({ pool: bench.pool, schema: bench.schema });
    const steps = store.steps!;
    const client = connect(bench.app, bench.backend, { store: { steps } });
    const { id } = await client.enqueue(work, 1);
    await bench.start({ untilIdle: true, store: { steps } }).done;
    expect((await client.status(id))?.error).toMatch(/^CONFIG: .*connect\(\) was given another store/);
    const other = memory();
    const elsewhere = connect(bench.app, other);
    const second = await elsewhere.enqueue(work, 1);
    await bench.start({ backend: other, untilIdle: true }).done;
    expect((await elsewhere.status(second.id))?.error).toMatch(/^CONFIG: .*backend "memory" offers none/);
    expect(await stage.effects()).toEqual([]);
  });
});
