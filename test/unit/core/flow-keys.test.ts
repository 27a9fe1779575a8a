/** The idempotency guard: two jobs with one key have one effect, and a failed attempt never blocks its own retry. */

import { beforeEach, describe, expect, it } from 'vitest';
import { RetryAfterError, SnoozeError } from '../../../core/base/errors.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createApp } from '../../../core/features/table.ts';
import type { HandlerContext } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { testApp } from '../../testing/index.ts';
import { type Bench, type BenchOptions, bench, job, until } from './kit.ts';

const keyed: EnqueueOptions = { idempotencyKey: 'invoice-7' };
let effects = 0;
let fail: unknown = null;
const work = job({
  handle() {
    if (fail !== null) throw fail;
    return { effect: ++effects };
  },
});
beforeEach(() => {
  effects = 0;
  fail = null;
});
const start = (options: Partial<BenchOptions> = {}): Bench => bench({ jobs: [work], ...options });

/** A queue and a key store that share nothing, as with SQS; both on the bench's clock. */
function apart(broken: Partial<KeyStore> = {}, options: Partial<BenchOptions> = {}) {
  const clock = { now: () => b.clock.now(), after: () => () => {} };
  const keys = memory({ clock }).stores!.keys;
  const b: Bench = start({ stores: { keys: { ...keys, ...broken } }, ...options });
  return { ...b, keys };
}
const down = (): Promise<never> => Promise.reject(new Error('store is down'));

const held = 'job:work:invoice-7';

describe('a key that is claimed', () => {
  it('is held as long as the lease was renewed to, before the run began', async () => {
    const claims: number[] = [];
    const { keys } = apart();
    const b = start({
      stores: {
        keys: {
          ...keys,
          claim: (key, owner, holdUntil) => {
            claims.push(holdUntil);
            return keys.claim(key, owner, holdUntil);
          },
        },
      },
    });
    await b.client.enqueue(work, {}, keyed);
    const run = await b.take();
    run.expiresAt += 40_000;
    await b.run(run);
    expect(claims).toEqual([run.lease.expiresAt + 40_000]);
  });
});

describe('a key that is done', () => {
  it('skips the second job, and gives it the output of the first', async () => {
    const b = start();
    expect((await b.once(work, {}, keyed)).outcome).toBe('acked');
    expect(await b.once(work, {}, keyed)).toMatchObject({
      id: 'id-2',
      outcome: 'skipped-idempotent',
      settled: true,
      reason: null,
      error: null,
    });
    expect(effects).toBe(1);
    expect(await b.client.status('id-2')).toMatchObject({ status: 'completed', output: { effect: 1 } });
    expect(b.kinds()).toEqual(['job.started', 'job.settled', 'job.settled']);
  });

  it('is another one for another job, another key, and no key', async () => {
    const other = job({ name: 'other', handle: () => void effects++ });
    const b = bench({ jobs: [work, other] });
    await b.once(work, {}, keyed);
    await b.once(other, {}, keyed);
    await b.once(work, {}, { idempotencyKey: 'invoice-8' });
    await b.once(work);
    await b.once(work);
    expect(effects).toBe(5);
  });

  it('is remembered for idempotencyKeepMs', async () => {
    const short = job({ idempotencyKeepMs: 60_000, handle: () => void effects++ });
    const b = bench({ jobs: [short] });
    await b.once(short, {}, keyed);
    b.clock.advance(59_999);
    expect((await b.once(short, {}, keyed)).outcome).toBe('skipped-idempotent');
    b.clock.advance(1);
    expect((await b.once(short, {}, keyed)).outcome).toBe('acked');
    expect(effects).toBe(2);
  });
});

describe('a key that is held elsewhere', () => {
  it.each([
    [500, 1000],
    [3_000, 3_000],
    [600_000, 5_000],
  ])('for %d ms gives the job back for %d ms, without an attempt', async (holdMs, delayMs) => {
    const b = start();
    await b.client.stores.keys.claim(held, 'another worker', b.clock.now() + holdMs);
    expect(await b.once(work, {}, { ...keyed, maxRetries: 0 })).toMatchObject({
      outcome: 'requeued',
      delayMs,
      attempt: 1,
      error: null,
    });
    expect(effects).toBe(0);
    b.clock.advance(600_000);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
  });

  it('is asked for more and more seldom by a job that waits for it', async () => {
    const b = start();
    await b.client.stores.keys.claim(held, 'another worker', b.clock.now() + 3_600_000);
    await b.client.enqueue(work, {}, { ...keyed, maxRetries: 0 });
    const delays: number[] = [];
    for (let waitedMs = 0; waitedMs < 600_000; waitedMs += delays.at(-1)!) {
      const { delayMs } = await b.next();
      delays.push(delayMs!);
      b.clock.advance(delayMs!);
    }
    expect(delays.slice(0, 6)).toEqual([5_000, 5_000, 10_000, 20_000, 40_000, 60_000]);
    expect(delays.slice(6).every((delayMs) => delayMs === 60_000)).toBe(true);
    b.clock.advance(3_600_000);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
  });

  it('runs when its holder has died, after the hold', async () => {
    const b = start();
    await b.client.enqueue(work, {}, keyed);
    const dead = await b.take(30_000);
    await b.client.stores.keys.claim(held, dead.lease.token, dead.lease.expiresAt);
    b.clock.advance(30_000);
    await b.backend.reapExpired('default');
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 2 });
  });

  it('lets only one of two that start together run', async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = job({
      async handle() {
        effects++;
        await gate;
      },
    });
    const b = bench({ jobs: [slow] });
    await b.client.enqueueMany(slow, [{}, {}], keyed);
    const running = b.run(await b.take());
    expect(await b.next()).toMatchObject({ outcome: 'requeued', error: null });
    release();
    expect((await running).outcome).toBe('acked');
    b.clock.advance(30_000);
    expect((await b.next()).outcome).toBe('skipped-idempotent');
    expect(effects).toBe(1);
  });
});

describe('a failed attempt', () => {
  it('releases its key, so that neither its retry nor another job of that key has to wait', async () => {
    const b = start();
    fail = new Error('down');
    expect((await b.once(work, {}, keyed)).outcome).toBe('requeued');
    fail = null;
    expect((await b.once(work, {}, keyed)).outcome).toBe('acked');
    b.clock.advance(60_000);
    expect((await b.next()).outcome).toBe('skipped-idempotent');
  });

  it('whose release fails waits for the end of its hold, which is the end of the lease', async () => {
    const b = apart({ release: down });
    fail = new RetryAfterError(0);
    expect(await b.once(work, {}, keyed)).toMatchObject({ outcome: 'requeued', settled: true });
    fail = null;
    expect(await b.next()).toMatchObject({ outcome: 'requeued', error: null, delayMs: 5_000 });
    b.clock.advance(60_000);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 2 });
  });

  it('that lost its lease keeps the hold: its handler may still be at work', async () => {
    const endless = job({ handle: () => new Promise(() => {}) });
    const b = bench({ jobs: [endless] });
    await b.client.enqueue(endless, {}, keyed);
    const run = await b.take();
    const done = b.run(run);
    await until(() => b.kinds().includes('job.started'));
    run.end('lease-lost');
    expect((await done).settled).toBe(false);
    expect((await b.once(endless, {}, keyed)).delayMs).toBe(5_000);
  });

  it('is dead-lettered without its key', async () => {
    const b = start();
    fail = new Error('down');
    expect((await b.once(work, {}, { ...keyed, maxRetries: 0 })).outcome).toBe('dead-lettered');
    expect(await b.client.stores.keys.claim(held, 'somebody', b.clock.now() + 1)).toEqual({
      state: 'claimed',
      value: null,
    });
  });
});

describe('a key store that fails', () => {
  it('gives the job back without running it unguarded, and without an attempt', async () => {
    const b = apart({ claim: down });
    expect(await b.once(work, {}, keyed)).toMatchObject({
      outcome: 'requeued',
      settled: true,
      delayMs: 5000,
      error: { code: 'HANDLER', message: 'store is down' },
    });
    expect(effects).toBe(0);
    expect((await b.client.status('id-1'))?.attempts).toEqual([]);
  });

  it('does not matter to a job without a key', async () => {
    expect((await apart({ claim: down }).once(work)).outcome).toBe('acked');
  });
});

describe('done and acked', () => {
  it('are one step where queue and keys share a database', async () => {
    const calls: unknown[] = [];
    const b = start({
      settler: (backend) => ({
        ...backend,
        ack(acks) {
          calls.push(acks.map(({ complete }) => complete?.key));
          return backend.ack(acks);
        },
      }),
    });
    await b.once(work, {}, keyed);
    expect(calls).toEqual([[held]]);
  });

  it('are two elsewhere, the key first', async () => {
    const b = apart(
      {},
      {
        settler: (backend) => ({
          ...backend,
          async ack(acks) {
            expect((await b.keys.claim(held, 'x', b.clock.now() + 1)).state).toBe('completed');
            return backend.ack(acks);
          },
        }),
      },
    );
    expect(await b.once(work, {}, keyed)).toMatchObject({ outcome: 'acked', settled: true });
  });

  it('a lost ack elsewhere means one effect: the message comes back and is skipped, on its last attempt too', async () => {
    let acks = 0;
    const b = apart(
      {},
      {
        settler: (backend) => ({
          ...backend,
          ack: (list) => (acks++ === 0 ? Promise.reject(new Error('network')) : backend.ack(list)),
        }),
      },
    );
    await b.client.enqueue(work, {}, { ...keyed, maxRetries: 0 });
    await expect(b.next()).rejects.toThrow('network');
    b.clock.advance(60_000);
    await b.backend.reapExpired('default');
    expect(await b.next()).toMatchObject({ outcome: 'skipped-idempotent', settled: true });
    expect(effects).toBe(1);
  });

  it('a key that was lost during the run acks nothing', async () => {
    let steal: () => Promise<boolean> = () => Promise.resolve(false);
    const robbed = job({ handle: () => steal() });
    const b = apart({}, { jobs: [robbed] });
    await b.client.enqueue(robbed, {}, keyed);
    const run = await b.take();
    steal = () => b.keys.release(held, run.lease.token);
    const result = await b.run(run);
    expect(result).toMatchObject({ outcome: 'acked', settled: false });
    expect((await b.client.status('id-1'))?.status).toBe('processing');
  });
});

describe('the key of a job that goes on where it was', () => {
  /** Two jobs with one key. */
  async function two(handle: (ctx: HandlerContext, charge: () => Promise<unknown>) => Promise<unknown>) {
    let charged = 0;
    const order = job({
      maxRetries: 3,
      idempotencyKey: () => 'order',
      handle: (_: unknown, ctx: HandlerContext) => handle(ctx, () => ctx.step('charge', () => ++charged)),
    });
    const t = testApp(createApp({ jobs: [order] }));
    const { id: first } = await t.enqueue(order, {});
    await t.drain();
    const { id: second } = await t.enqueue(order, {});
    return { t, first, second, order, charged: () => charged };
  }

  it.each([
    ['sleeps', (ctx: HandlerContext) => ctx.sleep('3d')],
    ['waits for an event', (ctx: HandlerContext) => ctx.waitFor('packed', { timeoutMs: '3d' })],
  ])('is held while it %s', async (_, away) => {
    const { t, first, second, charged } = await two(async (ctx, charge) => {
      await charge();
      await away(ctx);
    });
    await t.runFor('4d');
    expect(charged()).toBe(1);
    expect(await t.status(first)).toMatchObject({ status: 'completed' });
    expect((await t.status(second))!.attempts.map(({ outcome }) => outcome)).toEqual(['skipped-idempotent']);
  });

  it('is held between a failed attempt that remembers steps and the next one', async () => {
    let fails = 2;
    const { t, second, charged } = await two(async (_, charge) => {
      await charge();
      if (fails-- > 0) throw new RetryAfterError(3_600_000, 'later');
    });
    await t.runFor('1d');
    expect(charged()).toBe(1);
    expect((await t.status(second))!.attempts.map(({ outcome }) => outcome)).toEqual(['skipped-idempotent']);
  });

  it.each(['cancel', 'remove'] as const)('is free soon after a %s', async (verb) => {
    let sleeps = true;
    const { t, first, second } = await two(async (ctx) => {
      if (sleeps) await ctx.sleep('3d');
    });
    await t.drain();
    sleeps = false;
    await t.client[verb](first);
    await t.runFor('2m');
    expect(await t.status(second)).toMatchObject({ status: 'completed' });
  });

  it('is held while it snoozes, and by nobody who has not come again for idempotencyKeepMs', async () => {
    const ran: number[] = [];
    const order = job({
      idempotencyKey: () => 'order',
      idempotencyKeepMs: 3_600_000,
      handle: (n: number) => {
        ran.push(n);
        if (ran.length === 1) throw new SnoozeError(60_000);
      },
    });
    const b = bench({ jobs: [order] });
    const first = await b.client.enqueue(order, 1);
    await b.run(await b.take());
    await b.client.enqueue(order, 2);
    await b.run(await b.take());
    expect(ran).toEqual([1]);
    b.clock.advance(60_000 + 3_600_000);
    const leases = await b.backend.fetch({ queues: ['default'], max: 2, leaseMs: 30_000, waitMs: 0 });
    const second = leases.find(({ body }) => JSON.parse(body).identifier !== first.id)!;
    expect(await b.run(createRun(second))).toMatchObject({ outcome: 'acked' });
    expect(ran).toEqual([1, 2]);
  });

  it('is not given up where the key store fails: the job comes back when its lease is over', async () => {
    const { order, b, releases } = sleeper();
    await b.client.enqueue(order, {});
    releases.fail = true;
    await expect(b.run(await b.take())).rejects.toThrow('store is down');
    releases.fail = false;
    b.clock.advance(60_000);
    await b.backend.reapExpired('default');
    expect(await b.run(await b.take())).toMatchObject({ outcome: 'requeued', counted: false });
  });

  function sleeper() {
    const releases = { fail: false };
    const order = job({
      idempotencyKey: () => 'order',
      handle: () => {
        throw new SnoozeError(60_000);
      },
    });
    const clock = { now: () => b.clock.now(), after: () => () => {} };
    const { keys } = memory({ clock }).stores!;
    const release: KeyStore['release'] = (...call) => (releases.fail ? down() : keys.release(...call));
    const b: Bench = bench({ jobs: [order], stores: { keys: { ...keys, release } } });
    return { order, b, releases };
  }
});
