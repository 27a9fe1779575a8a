/** Middleware around attempts: order, output, errors, and how an attempt ends while it is in one. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { PermanentError, RetryAfterError } from '../../../core/base/errors.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { createApp } from '../../../core/features/table.ts';
import { currentContext, withContext } from '../../../core/kernel/app/context.ts';
import type { AttemptMiddleware } from '../../../core/kernel/app/job.ts';
import type { Middleware } from '../../../core/kernel/app/middleware.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { settle } from '../worker/kit.ts';
import { bench, job, refusalText, ring, startMs, until } from './kit.ts';

const noted =
  (order: string[], name: string): AttemptMiddleware =>
  async (_, next) => {
    order.push(`${name} before`);
    const output = await next();
    order.push(`${name} after`);
    return output;
  };

describe('the middleware of an attempt', () => {
  it('stands around the handler: that of the app first, then that of the job', async () => {
    const order: string[] = [];
    const one = job({
      use: [noted(order, 'job 1'), noted(order, 'job 2')],
      handle: () => void order.push('handler'),
    });
    const b = bench({ jobs: [one], use: [noted(order, 'app 1'), { attempt: noted(order, 'app 2') }] });
    expect((await b.once(one)).outcome).toBe('acked');
    const around = ['app 1', 'app 2', 'job 1', 'job 2'];
    expect(order).toEqual([
      ...around.map((name) => `${name} before`),
      'handler',
      ...around.toReversed().map((name) => `${name} after`),
    ]);
  });

  it.each<[does: string, layer: AttemptMiddleware, output: unknown]>([
    ['passes it on', (_, next) => next(), 1],
    ['returns nothing', async (_, next) => void (await next()), 1],
    ['returns something else', async (_, next) => ({ was: await next() }), { was: 1 }],
    ['returns null', async (_, next) => (await next()) && null, null],
    ['does not wait for it', (_, next) => void next(), 1],
  ])('leaves or replaces the output: one that %s', async (_, layer, output) => {
    const one = job({
      handle: async () => {
        await new Promise(setImmediate);
        return 1;
      },
    });
    const b = bench({ jobs: [one], use: [layer] });
    expect((await b.once(one)).outcome).toBe('acked');
    expect((await b.client.status('id-1'))?.output).toEqual(output);
  });

  it('is not there for jobs that may not run', async () => {
    const order: string[] = [];
    const one = job({ idempotencyKey: () => 'same', handle: () => 'done' });
    const b = bench({ jobs: [one], use: [noted(order, 'app')] });
    await b.once(one);
    await b.put('forged');
    expect((await b.next()).outcome).toBe('rejected');
    expect((await b.once(one)).outcome).toBe('skipped-idempotent');
    expect(order).toEqual(['app before', 'app after']);
  });

  it('has what the handler has, and may give it more', async () => {
    const store = new AsyncLocalStorage<string>();
    const one = job({ handle: (_, ctx) => [ctx.id, store.getStore()] });
    const seen: unknown[] = [];
    const b = bench({
      jobs: [one],
      use: [
        (ctx, next) => {
          seen.push(ctx);
          return store.run(`for ${ctx.job}`, next);
        },
      ],
    });
    await b.once(one, {}, { context: { tenantId: 'acme' } });
    expect(seen[0]).toMatchObject({ id: 'id-1', attempt: 1, context: { tenantId: 'acme' } });
    expect((await b.client.status('id-1'))?.output).toEqual(['id-1', 'for work']);
  });

  it('changes the context of what is inside by withContext', async () => {
    const child = job({ name: 'child', queue: 'children' });
    const one = job({
      async handle(_, ctx) {
        await ctx.enqueue(child, {});
        return [ctx.context, currentContext()];
      },
    });
    const actor: Middleware = (ctx, next) => withContext({ ...ctx.context, actorId: 'job' }, next);
    const b = bench({ jobs: [one, child], use: [actor] });
    for (const context of [{ tenantId: 'acme' }, undefined]) {
      const { id } = (await b.once(one, {}, context ? { context } : {})) as { id: string };
      const changed = { ...context, actorId: 'job' };
      expect((await b.client.status(id))?.output).toEqual([changed, changed]);
      const { lease } = await b.take(60_000, ['children']);
      expect(readEnvelope(lease.body, { ring, now: startMs, maxBytes: 1_048_576 }).context).toEqual(changed);
    }
  });
});

describe('an error of a middleware', () => {
  const failing = (error: () => unknown) =>
    bench({
      jobs: [job({ maxRetries: 1, retry: fixed(7_000) })],
      use: [
        async (_, next) => {
          await next();
          throw error();
        },
      ],
    });

  it.each<[error: () => unknown, end: object]>([
    [() => new Error('rolled back'), { outcome: 'requeued', delayMs: 7_000 }],
    [() => new RetryAfterError(90_000), { outcome: 'requeued', delayMs: 90_000 }],
    [() => new PermanentError('no such tenant'), { outcome: 'dead-lettered', reason: 'permanent' }],
    [() => undefined, { outcome: 'requeued', delayMs: 7_000 }],
  ])("counts as the handler's: %s", async (error, end) => {
    const b = failing(error);
    expect(await b.once(b.app.jobs.get('work')!)).toMatchObject(end);
  });

  it('uses up the attempts', async () => {
    const b = failing(() => new Error('down'));
    await b.once(b.app.jobs.get('work')!);
    b.clock.advance(7_000);
    expect(await b.next()).toMatchObject({ outcome: 'dead-lettered', reason: 'exhausted', attempt: 2 });
  });

  it('of the handler can be seen and changed by it', async () => {
    const one = job({
      handle: () => {
        throw new Error('404');
      },
    });
    const b = bench({
      jobs: [one],
      use: [(_, next) => next().catch((error) => Promise.reject(new PermanentError(error.message)))],
    });
    expect(await b.once(one)).toMatchObject({ outcome: 'dead-lettered', error: { message: '404' } });
  });

  it('of the handler that it keeps for itself is none', async () => {
    const one = job({ handle: () => Promise.reject(new Error('ignored')) });
    const b = bench({ jobs: [one], use: [(_, next) => next().catch(() => 'instead')] });
    expect((await b.once(one)).outcome).toBe('acked');
    expect((await b.client.status('id-1'))?.output).toBe('instead');
  });

  it('of the handler is not lost when it does not wait for it', async () => {
    const one = job({
      handle: () => new Promise((_, reject) => setImmediate(() => reject(new Error('late')))),
    });
    const b = bench({ jobs: [one], use: [(_, next) => void next()] });
    expect(await b.once(one)).toMatchObject({ outcome: 'requeued', error: { message: 'late' } });
  });
});

describe('next()', () => {
  it('that is never called fails the attempt, because the handler did not run', async () => {
    let ran = 0;
    const one = job({ handle: () => void ran++ });
    const b = bench({ jobs: [one], use: [() => 'forgotten'] });
    expect(await b.once(one)).toMatchObject({
      outcome: 'requeued',
      error: { code: 'CONFIG', message: expect.stringContaining('without calling next()') },
    });
    expect(ran).toBe(0);
  });

  it.each<[string, AttemptMiddleware]>([
    ['one after the other', async (_, next) => [await next(), await next()]],
    ['at once', (_, next) => Promise.all([next(), next()])],
    [
      'without waiting',
      (_, next) => {
        void next();
        void next();
      },
    ],
  ])('runs the handler once, also when it is called twice %s', async (_, layer) => {
    let ran = 0;
    const one = job({ handle: () => void ran++ });
    const b = bench({ jobs: [one], use: [layer] });
    expect(await b.once(one)).toMatchObject({
      outcome: 'requeued',
      error: { code: 'CONFIG', message: expect.stringContaining('called next() again') },
    });
    expect(ran).toBe(1);
  });

  it('that comes after the middleware has ended runs nothing', async () => {
    let ran = 0;
    let late: (() => unknown) | null = null;
    const one = job({ handle: () => void ran++ });
    const b = bench({
      jobs: [one],
      use: [
        (_, next) => {
          late = next;
        },
      ],
    });
    await b.once(one);
    expect(late).toThrow(/after it had ended/);
    expect(ran).toBe(0);
  });
});

describe('a handler that its middleware has left', () => {
  it('is over before the attempt is: no retry runs beside it', async () => {
    let finish: (() => void) | null = null;
    const one = job({
      handle: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    const hasty: Middleware = async (_, next) => {
      void next();
      throw new Error('cannot wait');
    };
    const b = bench({ jobs: [one], use: [hasty] });
    await b.client.enqueue(one, {});
    let result: unknown = null;
    const attempt = b.run(await b.take()).then((end) => {
      result = end;
    });
    await until(() => finish !== null);
    await settle();
    expect(result).toBeNull();
    finish!();
    await attempt;
    expect(result).toMatchObject({ outcome: 'requeued', error: { message: 'cannot wait' } });
  });
});

describe('an attempt that is ended from outside', () => {
  it('is over also while a middleware waits, and its handler does not begin any more', async () => {
    let ran = 0;
    let go = () => {};
    const one = job({ timeoutMs: 1_000, handle: () => void ran++ });
    const ends: unknown[] = [];
    const b = bench({
      jobs: [one],
      use: [
        async (_, next) => {
          await new Promise<void>((resolve) => {
            go = resolve;
          });
          await next().catch((error) => ends.push(error.code));
        },
      ],
    });
    await b.client.enqueue(one, {});
    const run = await b.take();
    const attempt = b.run(run);
    await until(() => run.stopTimer !== null);
    b.clock.advance(1_000);
    expect(await attempt).toMatchObject({ outcome: 'requeued', error: { code: 'TIMEOUT' } });
    go();
    await until(() => ends.length > 0);
    expect(ends).toEqual(['TIMEOUT']);
    expect(ran).toBe(0);
  });

  it('lets a middleware undo what it did, also when the handler never ends', async () => {
    const order: string[] = [];
    const one = job({ timeoutMs: 1_000, handle: () => new Promise(() => {}) });
    const b = bench({
      jobs: [one],
      use: [
        async (ctx, next) => {
          try {
            await next();
          } finally {
            order.push(`undone, ${ctx.signal.aborted}`);
          }
        },
      ],
    });
    await b.client.enqueue(one, {});
    const run = await b.take();
    const attempt = b.run(run);
    await until(() => run.stopTimer !== null);
    b.clock.advance(1_000);
    expect(await attempt).toMatchObject({ error: { code: 'TIMEOUT' } });
    await until(() => order.length > 0);
    expect(order).toEqual(['undone, true']);
  });

  it('lost its lease while a middleware waited: the handler does not begin', async () => {
    let ran = 0;
    const one = job({ handle: () => void ran++ });
    const b = bench({
      jobs: [one],
      use: [
        (_, next) => {
          b.clock.advance(60_000);
          return next();
        },
      ],
    });
    expect(await b.once(one)).toMatchObject({ settled: false });
    expect(ran).toBe(0);
  });
});

describe('wrong middleware', () => {
  it.each<[use: unknown, message: RegExp]>([
    [{}, /got an object/],
    [['log'], /expects use to be a list of functions \(ctx, next\) or \{ attempt, enqueue \}, got "log"/],
    [[{}], /got an object/],
    [[{ atempt: () => {} }], /got an object/],
    [[{ enqueue: true }], /got an object/],
    [[{ enqueue: undefined }], /got an object/],
    [[{ toString: () => {} }], /got an object/],
    [[null], /got null/],
  ])('of an app is refused: %j', async (use, message) => {
    expect(await refusalText(() => createApp({ jobs: [], use: use as Middleware[] }))).toMatch(message);
  });

  it('of a job is refused', async () => {
    const wrong = [{ attempt: () => {} }] as unknown as AttemptMiddleware[];
    expect(await refusalText(() => job({ use: wrong }))).toBe(
      'CONFIG: Job "work" expects use to be a list of functions (ctx, next), got an array.',
    );
  });
});
