/** Steps of a job: what is remembered, and what is done again. */

import { describe, expect, it } from 'vitest';
import { StepLog } from '../../../core/features/steps/log.ts';
import { sealedSteps } from '../../../core/features/steps/seal.ts';
import { nameOfJob, stepsIn } from '../../../core/features/steps/stored.ts';
import { PermanentError } from '../../../core/index.ts';
import type { HandlerContext } from '../../../core/kernel/app/job.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { bench, job } from './kit.ts';

const day = 86_400_000;

describe('a step', () => {
  it('is not done again by the attempt after a failure, and gives back what it returned', async () => {
    const done: string[] = [];
    const work = job({
      maxRetries: 2,
      async handle(_, ctx) {
        const customer = await ctx.step('customer', () => {
          done.push('customer');
          return { id: 'c-7', seen: undefined, tags: ['a'] };
        });
        const nothing = await ctx.step('nothing', () => void done.push('nothing'));
        await ctx.step('charge', ({ idempotencyKey }) => {
          done.push(idempotencyKey);
          if (done.length < 4) throw new Error('card refused');
        });
        return [customer, nothing === undefined];
      },
    });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued', counted: true });
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 2 });
    expect(done).toEqual(['customer', 'nothing', 'id-1:charge', 'id-1:charge']);
    expect((await b.client.status('id-1'))!.output).toEqual([{ id: 'c-7', tags: ['a'] }, true]);
  });

  it('leaves nothing behind when the job is done, and all of it when the job dies', async () => {
    const work = job({
      maxRetries: 0,
      async handle(payload, ctx) {
        await ctx.step('first', () => 1);
        if (payload.dies) throw new Error('broken');
      },
    });
    const b = bench({ jobs: [work] });
    const { steps } = b.client.stores;
    await b.once(work, {});
    expect(await steps!.read(nameOfJob('id-1'))).toBeNull();
    await b.once(work, { dies: true });
    expect(stepsIn((await steps!.read(nameOfJob('id-2')))!.text)).toMatchObject([
      { name: 'first', value: 1 },
    ]);
  });

  it('stays done when a dead letter is retried, though its attempts begin anew', async () => {
    let runs = 0;
    let works = false;
    const work = job({
      maxRetries: 1,
      async handle(_, ctx) {
        await ctx.step('first', () => void runs++);
        if (!works) throw new Error('broken');
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'dead-lettered' });
    b.clock.advance(1);
    works = true;
    const [letter] = await b.deadLetters();
    await b.backend.admin!.deadLetters.retry([letter!.id]);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
    expect(runs).toBe(1);
  });

  it('costs one write, the first of an attempt one read and one write more, and those that end together share one', async () => {
    const calls: string[] = [];
    const stores = memoryStore();
    const counted = { ...stores.steps! };
    for (const verb of ['read', 'write', 'remove'] as const) {
      const call = stores.steps![verb] as (...given: unknown[]) => Promise<never>;
      counted[verb] = (...given: unknown[]) => {
        calls.push(verb);
        return call(...given);
      };
    }
    const per: string[] = [];
    const work = job({
      async handle(_, ctx) {
        for (const name of ['a', 'b', 'c']) {
          await ctx.step(name, () => 1);
          per.push(calls.splice(0).join(' '));
        }
        await Promise.all(Array.from({ length: 100 }, (_, i) => ctx.step(`item-${i}`, () => i)));
        per.push(calls.splice(0).join(' '));
        if (ctx.attempt === 1) throw new Error('once more');
      },
    });
    const b = bench({ jobs: [work], stores: { ...stores, steps: counted } });
    await b.once(work);
    expect(per.splice(0)).toEqual(['read write write', 'write', 'write', 'write']);
    expect(calls).toEqual([]);
    b.clock.advance(day);
    await b.next();
    expect(per).toEqual(['read write', '', '', '']);
    // The text, and the piece that the next step might have written.
    expect(calls).toEqual(['remove', 'remove']);
  });

  it('is refused with a name that comes twice, and may be tried again when it has thrown', async () => {
    let tries = 0;
    const work = job({
      async handle(payload, ctx) {
        const flaky = () =>
          ctx.step('flaky', () => (++tries === 1 ? Promise.reject(new Error('no')) : tries));
        const value = await flaky().catch(flaky);
        if (payload.twice) await flaky();
        return value;
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work, {});
    expect((await b.client.status('id-1'))!.output).toBe(2);
    const { error } = await b.once(work, { twice: true });
    expect(error).toMatchObject({ code: 'CONFIG' });
    expect(error!.message).toContain('two steps called "flaky" in one attempt');
  });

  it.each([
    ['', 'OPTION'],
    ['x'.repeat(101), 'OPTION'],
    ['\0', 'OPTION'],
    [undefined, 'OPTION'],
  ])('is refused with the name %j', async (name, code) => {
    const work = job({ handle: (_, ctx) => ctx.step(name as string, () => 1) });
    const { error } = await bench({ jobs: [work] }).once(work);
    expect(error).toMatchObject({ code });
    expect(error!.message).toMatch(
      /^Expected the name of a step to be a text (of 1 to 100 characters, got |without U\+0000)/,
    );
  });

  it.each([
    ['a date', () => new Date(0), 'got a Date'],
    ['a function', () => () => 1, 'got a function'],
    ['too much', () => 'x'.repeat(300_000), 'fit into 261888 bytes'],
  ])(
    'sends the job to the dead letters when it returns %s: to try again would only repeat its effect',
    async (_, work, text) => {
      const one = job({ handle: (_, ctx) => ctx.step('one', work as () => unknown) });
      const result = await bench({ jobs: [one] }).once(one);
      expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
      expect(result.error!.message).toContain(text);
    },
  );

  it('is remembered beside others that run at the same time', async () => {
    const runs: number[] = [];
    const work = job({
      async handle(_, ctx) {
        const each = [0, 1, 2, 3, 4].map((i) =>
          ctx.step(`item-${i}`, async () => {
            runs.push(i);
            return i * i;
          }),
        );
        const squares = await Promise.all(each);
        if (runs.length === 5 && ctx.attempt === 1) throw new Error('once more');
        return squares;
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(day);
    await b.next();
    expect(runs).toHaveLength(5);
    expect((await b.client.status('id-1'))!.output).toEqual([0, 1, 4, 9, 16]);
  });

  it('fails with words where no store keeps it, and in a job with a transaction', async () => {
    const work = job({ handle: (_, ctx) => ctx.step('one', () => 1) });
    const { steps: _, texts: __, ...stores } = memoryStore();
    const b = bench({ jobs: [work] });
    (b.client as { stores: object }).stores = stores;
    const { error, outcome } = await b.once(work);
    expect(outcome).toBe('requeued');
    expect(error).toMatchObject({ code: 'CONFIG' });
    expect(error!.message).toContain('no store that keeps them. Give connect() a store with steps');
  });

  it('is told when another release did it and this one asks no more', async () => {
    const work = job({
      async handle(_, ctx) {
        if (ctx.attempt > 1) return ctx.step('new name', () => 2);
        await ctx.step('old name', () => 1);
        throw new Error('later');
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(day);
    await b.next();
    expect(b.eventsOf('job.warning').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^The job has ended without the steps "old name", which an earlier attempt/),
    ]);
  });

  it('keeps a job from expiring between two attempts', async () => {
    const work = job({
      expiresInMs: day / 2,
      async handle(_, ctx) {
        await ctx.step('one', () => 1);
        if (ctx.attempt === 1) throw new Error('later');
      },
      retry: (() => day) as never,
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    await b.client.enqueue(work, {});
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'expired' });
  });
});

describe('an attempt whose time is over', () => {
  const slow = (steps: number) =>
    job({
      maxRetries: 0,
      timeoutMs: 100,
      async handle(_, ctx) {
        for (let i = 0; i < steps; i++) await ctx.step(`${i}`, () => i);
        await ctx.step('slow', () => (ctx.attempt > 1 ? 1 : new Promise(() => {})));
      },
    });

  it.each([
    [0, { outcome: 'dead-lettered', reason: 'exhausted' }],
    [1, { outcome: 'requeued', counted: false }],
  ])('is counted unless it has done a step (%i)', async (steps, expected) => {
    const b = bench({ jobs: [slow(steps)] });
    await b.client.enqueue(b.app.jobs.get('work')!, {});
    const run = await b.take();
    const running = b.run(run);
    for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate);
    b.clock.advance(100);
    expect(await running).toMatchObject({ ...expected, error: { code: 'TIMEOUT' } });
    if (steps === 0) return;
    // The next attempt does no step before its time is over: that one has failed.
    b.clock.advance(1);
    const next = b.run(await b.take());
    for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate);
    b.clock.advance(100);
    expect(await next).toMatchObject({ outcome: 'dead-lettered', reason: 'exhausted' });
  });
});

describe('an attempt that woke up late', () => {
  it('cannot write a step, and neither begin one, when the next attempt has begun', async () => {
    const waiting: (() => void)[] = [];
    const ran: string[] = [];
    const work = job({
      async handle(_, ctx: HandlerContext) {
        await ctx.step('first', async () => {
          ran.push(`first ${ctx.attempt}`);
          if (ctx.attempt === 1) await new Promise<void>((resolve) => waiting.push(resolve));
          return ctx.attempt;
        });
        await ctx.step('second', () => void ran.push(`second ${ctx.attempt}`));
        return 'done';
      },
    });
    const b = bench({ jobs: [work] });
    await b.client.enqueue(work, {});
    const late = await b.take(1_000);
    const frozen = b.run(late);
    while (waiting.length === 0) await new Promise(setImmediate);
    b.clock.advance(1_001);
    await b.backend.reapExpired('default');
    const next = await b.take();
    const { steps } = b.client.stores;
    const log = await StepLog.open(sealedSteps(steps!, b.client.app), b.clock, {
      ...{ id: 'id-1', owner: 'the next', attempt: 2, leaseUntil: next.lease.expiresAt },
    });
    expect(log!.steps).toEqual([]);
    waiting[0]!();
    expect(await frozen).toMatchObject({ settled: false });
    expect(ran).toEqual(['first 1']);
    expect(await b.run(next)).toMatchObject({ outcome: 'acked', attempt: 2 });
    expect(ran).toEqual(['first 1', 'first 2', 'second 2']);
    expect((await b.client.status('id-1'))!.output).toBe('done');
  });
});

describe('sleep', () => {
  it('ends the attempt, spends none, and goes on where it was', async () => {
    const done: string[] = [];
    const work = job({
      maxRetries: 0,
      timeoutMs: 1_000,
      async handle(_, ctx) {
        await ctx.step('welcome', () => void done.push('welcome'));
        await ctx.sleep('3d');
        await ctx.step('remind', () => void done.push('remind'));
        await ctx.sleep(day);
        done.push('end');
      },
    });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({
      ...{ outcome: 'requeued', counted: false, delayMs: 3 * day, error: null },
    });
    b.clock.advance(3 * day - 1);
    await expect(b.take()).rejects.toThrow('found none');
    b.clock.advance(1);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', attempt: 1, delayMs: day });
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
    expect(done).toEqual(['welcome', 'remind', 'end']);
  });

  it('sleeps on when it is woken too early', async () => {
    const work = job({ handle: (_, ctx) => ctx.sleep('2h') });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(3_600_000);
    await b.client.promote('id-1');
    expect(await b.next()).toMatchObject({ outcome: 'requeued', delayMs: 3_600_000 });
  });

  it('is not stopped by a handler that catches everything, and lets it do no further step', async () => {
    const did: string[] = [];
    const work = job({
      async handle(_, ctx) {
        await ctx.sleep('1h').catch(() => {});
        await ctx.step('after', () => void did.push('after')).catch(() => did.push('refused'));
        if (did.length === 1) throw new Error('something of its own');
      },
    });
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued', counted: false, error: null });
    b.clock.advance(3_600_000);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(did).toEqual(['refused', 'after']);
  });

  it.each(['3 weeks', -1, Number.NaN, 'd', null, '400d'])('refuses %j', async (time) => {
    const work = job({ handle: (_, ctx) => ctx.sleep(time as string) });
    const { error } = await bench({ jobs: [work] }).once(work);
    expect(error).toMatchObject({ code: 'OPTION' });
  });

  it('of 0 ms goes on at once', async () => {
    const work = job({ handle: (_, ctx) => ctx.sleep(0) });
    expect(await bench({ jobs: [work] }).once(work)).toMatchObject({ outcome: 'acked' });
  });
});

it.each([
  ['an option of a wait that there is not', 'CONFIG', { timeoutMs: '1h', kye: 'a' }],
  ['a wait without an end', 'OPTION', {}],
])('%s is refused', async (_, code, options) => {
  const work = job({ handle: (_, ctx) => ctx.waitFor('go', options as { timeoutMs: string }) });
  expect((await bench({ jobs: [work] }).once(work)).error).toMatchObject({ code });
});

it.each([
  ['an option of a step that there is not', 'CONFIG', { transactoin: true }],
  ['an option of another type', 'CONFIG', { transaction: 'yes' }],
  ['options that are none', 'OPTION', null],
  ['a transaction where there is none', 'CONFIG', { transaction: true }],
])('%s is refused', async (_, code, options) => {
  const work = job({ handle: (_, ctx) => ctx.step('one', () => 1, options as object) });
  expect((await bench({ jobs: [work] }).once(work)).error).toMatchObject({ code });
});

it('a permanent error of a step is one of the job', async () => {
  const work = job({
    handle: (_, ctx) =>
      ctx.step('one', () => {
        throw new PermanentError('never');
      }),
  });
  expect(await bench({ jobs: [work] }).once(work)).toMatchObject({ outcome: 'dead-lettered' });
});
