/** Attempts that end from outside: timeout, cancel, shutdown, a lost lease, a backend that does not answer. */

import { describe, expect, it, vi } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import type { HandlerContext, Job } from '../../../core/kernel/app/job.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type Bench, type BenchOptions, bench, job, startMs, until } from './kit.ts';

/** Starts the first attempt of a job and waits until its handler runs. */
async function started(
  handle: (ctx: HandlerContext) => unknown,
  parts: Parameters<typeof job>[0] = {},
  options: Partial<BenchOptions> = {},
) {
  let ctx: HandlerContext | null = null;
  const one: Job = job({
    timeoutMs: 10_000,
    ...parts,
    handle(_, given) {
      ctx = given;
      return handle(given);
    },
  });
  const b: Bench = bench({ jobs: [one], ...options });
  await b.client.enqueue(one, {});
  const run = await b.take();
  const done = b.run(run);
  await until(() => ctx !== null);
  await new Promise(setImmediate); // when the turn is over its deadline is watched
  return { ...b, held: run, done, ctx: ctx! as HandlerContext };
}

const forever = (): Promise<never> => new Promise(() => {});
/** Ends when it is told to, as a good handler does. */
const obedient = ({ signal }: HandlerContext): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('a timeout', () => {
  it.each([
    ['that never ends', forever],
    ['that ends when it is told', obedient],
  ])('ends the attempt of a handler %s, and the signal says why', async (_, handle) => {
    const { clock, done, ctx } = await started(handle);
    expect(ctx.deadlineAt).toBe(startMs + 10_000);
    clock.advance(9_999);
    expect(ctx.signal.aborted).toBe(false);
    clock.advance(1);
    expect(ctx.signal.reason).toMatchObject({ code: 'TIMEOUT' });
    expect(await done).toMatchObject({
      outcome: 'requeued',
      settled: true,
      attempt: 1,
      delayMs: 30_000,
      error: { code: 'TIMEOUT', message: 'The attempt ran longer than the timeoutMs of its job.' },
    });
  });

  it('is a failure like any other: the last one is exhausted', async () => {
    const { clock, done } = await started(forever, { maxRetries: 0 });
    clock.advance(10_000);
    expect(await done).toMatchObject({
      outcome: 'dead-lettered',
      reason: 'exhausted',
      error: { code: 'TIMEOUT' },
    });
  });

  it('does not come after the handler has ended', async () => {
    const { clock, done, ctx } = await started(() => 'done');
    expect((await done).outcome).toBe('acked');
    clock.advance(20_000);
    expect(ctx.signal.aborted).toBe(false);
  });

  it('ends what has used up its time before it first waits', async () => {
    const slow = job({
      timeoutMs: 10_000,
      handle() {
        one.clock.advance(10_000);
        return forever();
      },
    });
    const one: Bench = bench({ jobs: [slow] });
    await one.client.enqueue(slow, {});
    expect(await one.run(await one.take())).toMatchObject({ error: { code: 'TIMEOUT' } });
  });

  it('needs no timer where the handler ends in the turn in which it began', async () => {
    const quick = job({ handle: async () => 'done' });
    const one = bench({ jobs: [quick] });
    await one.once(quick); // the first one also asks which jobs are paused
    const timers = vi.spyOn(one.clock, 'after');
    await one.client.enqueue(quick, {});
    expect((await one.run(await one.take())).outcome).toBe('acked');
    await new Promise(setImmediate);
    expect(timers).not.toHaveBeenCalled();
  });

  it('is not undone by what the handler still does', async () => {
    let finish: (value: string) => void = () => {};
    const late = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const { clock, done, client } = await started(() => late);
    clock.advance(10_000);
    await done;
    finish('too late');
    await late;
    expect(await client.status('id-1')).toMatchObject({ status: 'retrying', output: null });
  });

  it('counts from the start of the attempt, so that a slow store does not move the deadline', async () => {
    const keys = memory().stores!.keys;
    const claim: typeof keys.claim = (...call) => {
      one.clock.advance(4_000);
      return keys.claim(...call);
    };
    const slow = job({ timeoutMs: 10_000, idempotencyKey: () => 'k', handle: forever });
    const one: Bench = bench({ jobs: [slow], stores: { keys: { ...keys, claim } } });
    await one.client.enqueue(slow, {});
    const done = one.run(await one.take());
    await until(() => one.kinds().includes('job.started'));
    await new Promise(setImmediate);
    one.clock.advance(5_999);
    expect(one.kinds()).not.toContain('job.settled');
    one.clock.advance(1);
    expect(await done).toMatchObject({ error: { code: 'TIMEOUT' } });
    expect(one.clock.now()).toBe(startMs + 10_000);
  });
});

describe('a cancel', () => {
  it('ends a run for good', async () => {
    const { done, held, ctx, client, deadLetters } = await started(obedient);
    held.end('cancelled');
    expect(ctx.signal.reason).toMatchObject({
      code: 'CANCELLED',
      message: 'The job was cancelled while it ran.',
    });
    expect(await done).toMatchObject({
      outcome: 'rejected',
      settled: true,
      reason: 'cancelled',
      error: { code: 'CANCELLED' },
    });
    expect((await client.status('id-1'))?.status).toBe('cancelled');
    expect(await deadLetters()).toEqual([]);
  });

  it('that comes when the work is done is too late', async () => {
    const { done, held } = await started(() => 'done');
    held.interrupt('cancelled');
    expect((await done).outcome).toBe('acked');
  });

  it('of a waiting job needs no worker; of a failed attempt it ends the retries', async () => {
    const failing = job({
      handle: () => {
        throw new Error('down');
      },
    });
    const b = bench({ jobs: [failing] });
    const { id } = await b.client.enqueue(failing, {});
    expect(await b.client.cancel(id)).toBe('cancelled');
    await expect(b.take()).rejects.toThrow('found none');
    const second = await b.client.enqueue(failing, {});
    const run = await b.take();
    expect(await b.client.cancel(second.id)).toBe('cancelling');
    expect((await b.run(run)).outcome).toBe('requeued');
    expect((await b.client.status(second.id))?.status).toBe('cancelled');
    expect(await b.client.cancel(second.id)).toBe('finished');
    expect(await b.client.cancel('nobody')).toBe('unknown');
  });
});

describe('a shutdown', () => {
  it('gives the job back at once and spends no attempt', async () => {
    const { done, held, ctx, take } = await started(forever, { maxRetries: 0 });
    held.interrupt('shutdown');
    expect(ctx.signal.reason).toMatchObject({ code: 'CANCELLED' });
    held.end('shutdown');
    expect(await done).toMatchObject({
      outcome: 'requeued',
      settled: true,
      delayMs: 0,
      error: { code: 'CANCELLED' },
    });
    expect((await take()).lease).toMatchObject({ attempt: 1, interrupted: false });
  });

  it('lets a handler that can end in time end well', async () => {
    let finish: () => void = () => {};
    const work = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { done, held } = await started(() => work);
    held.interrupt('shutdown');
    finish();
    expect((await done).outcome).toBe('acked');
  });

  it('before the handler has begun ends the attempt without running it', async () => {
    let ran = false;
    const one = job({
      handle: () => {
        ran = true;
      },
    });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, {});
    const run = await b.take();
    run.end('shutdown');
    expect(await b.run(run)).toMatchObject({ outcome: 'requeued', delayMs: 0 });
    expect(ran).toBe(false);
  });
});

describe('a lost lease', () => {
  it('keeps a job from being begun: somebody else may run it already', async () => {
    const ran: string[] = [];
    const one = job({ handle: (_, { id }) => void ran.push(id) });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, {});
    const waited = await b.take(1_000);
    b.clock.advance(1_000);
    await b.backend.reapExpired('default');
    const owner = await b.take();
    expect(await b.run(waited)).toMatchObject({
      outcome: 'requeued',
      settled: false,
      error: { code: 'LEASE_LOST' },
    });
    expect(ran).toEqual([]);
    expect(await b.run(owner)).toMatchObject({ outcome: 'acked', settled: true });
    expect(ran).toHaveLength(1);
  });

  it('changes nothing, whatever the handler does', async () => {
    const { done, held, ctx, client, events } = await started(obedient);
    held.end('lease-lost');
    expect(ctx.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(await done).toMatchObject({
      outcome: 'requeued',
      settled: false,
      delayMs: null,
      error: { code: 'LEASE_LOST' },
    });
    expect((await client.status('id-1'))?.status).toBe('processing');
    expect(events.at(-1)).toMatchObject({ type: 'job.settled', settled: false });
  });

  it.each([
    ['acks', () => 'done', 'acked'],
    ['requeues', () => Promise.reject(new Error('down')), 'requeued'],
    ['dead-letters', () => Promise.reject(new PermanentError('no')), 'dead-lettered'],
  ])('that nobody noticed %s nothing', async (_, end, outcome) => {
    let finish: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const b = await started(() => gate.then(end), { timeoutMs: 600_000 });
    b.clock.advance(60_000);
    await b.backend.reapExpired('default');
    const second = await b.take();
    finish();
    expect(await b.done).toMatchObject({ outcome, settled: false });
    expect((await b.client.status('id-1'))?.status).toBe('processing');
    expect((await b.run(second)).settled).toBe(true);
  });

  it('takes from the handler the right to report', async () => {
    const b = await started(forever);
    expect(await b.ctx.progress(1, 2, 'half')).toBe(true);
    b.clock.advance(60_000);
    expect(await b.ctx.progress(2, 2)).toBe(false);
    expect((await b.client.status('id-1'))?.progress).toEqual({
      done: 1,
      total: 2,
      message: 'half',
      at: startMs,
    });
  });
});

describe('a backend that fails', () => {
  it.each([
    ['ack', (): unknown => 'done'],
    ['nack', () => Promise.reject(new Error('down'))],
    ['abandon', () => Promise.reject(new PermanentError('no'))],
  ] as const)('during %s rejects the attempt: nothing was settled', async (verb, handle) => {
    const one = job({ handle });
    const b = bench({
      jobs: [one],
      settler: (backend) => ({ ...backend, [verb]: () => Promise.reject(new Error('connection lost')) }),
    });
    await b.client.enqueue(one, {});
    await expect(b.next()).rejects.toThrow('connection lost');
    expect(b.kinds()).toEqual(['job.started']);
    expect((await b.client.status('id-1'))?.status).toBe('processing');
  });
});

describe('a run', () => {
  const lease = { queue: 'q', body: '', attempt: 1, token: 't', expiresAt: 0, interrupted: false };

  it('is ended once, for its first cause', () => {
    let ends = 0;
    const run = createRun(lease);
    run.onEnd = () => {
      ends++;
    };
    run.interrupt('shutdown');
    run.end('timeout');
    run.end('cancelled');
    expect(ends).toBe(1);
    expect(run.cause).toBe('shutdown');
    expect(run.signal.reason).toMatchObject({ code: 'CANCELLED' });
  });

  it('that is fine has a quiet signal, always the same', () => {
    const run = createRun(lease);
    expect(run.signal).toBe(run.signal);
    expect(run.signal.aborted).toBe(false);
    expect(run.cause).toBeNull();
  });
});

describe('a run that is ended while its handler has not yet waited', () => {
  it('ends, though the handler never does', async () => {
    let run: Run | null = null;
    const stubborn = job({
      handle: () => {
        run!.end('cancelled');
        return new Promise(() => {});
      },
    });
    const b = bench({ jobs: [stubborn] });
    await b.client.enqueue(stubborn, {});
    run = await b.take();
    expect(await b.run(run)).toMatchObject({ outcome: 'rejected', reason: 'cancelled' });
  });
});
