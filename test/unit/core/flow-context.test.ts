/** What a handler gets beside its payload, and what is told of an attempt. */

import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { currentContext, withContext } from '../../../core/kernel/app/context.ts';
import { defineJob, type HandlerContext, type Job } from '../../../core/kernel/app/job.ts';
import { bench, job, ring, startMs } from './kit.ts';

const context = { tenantId: 'acme', actorId: 'u-7', requestId: 'r-9', traceparent: '00-aa-bb-01' };

/** Runs one job and returns what its handler was given. */
async function given(options = {}): Promise<HandlerContext> {
  const got: HandlerContext[] = [];
  const one = job({ timeoutMs: 5000, handle: (_, ctx) => void got.push(ctx) });
  await bench({ jobs: [one], queues: { mail: {} } }).once(one, {}, options);
  return got[0]!;
}

describe('the context of a handler', () => {
  it('has the facts of the job', async () => {
    expect(await given({ queue: 'mail', maxRetries: 4, idempotencyKey: 'k', context })).toMatchObject({
      id: 'id-1',
      job: 'work',
      queue: 'mail',
      attempt: 1,
      maxAttempts: 5,
      previouslyCrashed: false,
      idempotencyKey: 'k',
      deadlineAt: startMs + 5000,
      context,
    });
  });

  it('has nothing where nothing was given', async () => {
    expect(await given()).toMatchObject({ idempotencyKey: null, context: {} });
  });

  it('can be taken apart', async () => {
    const child = job({ name: 'child' });
    const one = job({
      async handle(_, { signal, progress, log, enqueue, attempt }) {
        log(`attempt ${attempt}, ${signal.aborted}`);
        await enqueue(child, {});
        return progress(1);
      },
    });
    const b = bench({ jobs: [one, child] });
    await b.once(one);
    expect((await b.client.status('id-1'))?.output).toBe(true);
    expect(await b.client.status('id-2')).not.toBeNull();
    expect(b.events[1]).toMatchObject({ message: 'attempt 1, false' });
  });

  it('gives the handler what the schema made of the payload', async () => {
    const schema = z.object({
      when: z.iso.datetime().transform((text) => new Date(text)),
      n: z.number().default(3),
    });
    const seen: unknown[] = [];
    const one = defineJob({ name: 'work', payload: schema, handle: (payload) => void seen.push(payload) });
    await bench({ jobs: [one] }).once(one as Job, { when: '2026-01-01T00:00:00Z' });
    expect(seen).toEqual([{ when: new Date('2026-01-01T00:00:00Z'), n: 3 }]);
  });
});

describe('tenant, actor, request and trace', () => {
  it('are there around the handler, however deep, and for nobody else', async () => {
    const seen: unknown[] = [];
    const one = job({
      async handle() {
        seen.push(currentContext());
        await setImmediate();
        await Promise.all([1, 2].map(async () => seen.push(currentContext())));
      },
    });
    const b = bench({ jobs: [one] });
    await b.once(one, {}, { context });
    expect(seen).toEqual([context, context, context]);
    expect(currentContext()).toBeUndefined();
  });

  it('of two jobs that run at the same time do not mix', async () => {
    const seen: Record<string, unknown[]> = { a: [], b: [] };
    const one = job({
      async handle(name: 'a' | 'b') {
        for (let i = 0; i < 5; i++) {
          seen[name]!.push(currentContext()?.tenantId);
          await setImmediate();
        }
      },
    });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, 'a', { context: { tenantId: 'tenant-a' } });
    await b.client.enqueue(one, 'b', { context: { tenantId: 'tenant-b' } });
    await Promise.all([b.run(await b.take()), b.run(await b.take())]);
    expect(seen).toEqual({ a: Array(5).fill('tenant-a'), b: Array(5).fill('tenant-b') });
  });

  it('of whoever runs the worker do not reach a job that has none', async () => {
    const seen: unknown[] = [];
    const one = job({ handle: () => void seen.push(currentContext()) });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, {});
    const run = await b.take();
    await withContext({ tenantId: 'worker' }, () => b.run(run));
    expect(seen).toEqual([{}]);
  });

  it.each([
    ['ctx.enqueue', (ctx: HandlerContext, child: Job) => ctx.enqueue(child, {})],
    [
      'ctx.enqueue, called from the context of somebody else',
      (ctx: HandlerContext, child: Job) => withContext({ tenantId: 'else' }, () => ctx.enqueue(child, {})),
    ],
    ['a client in scope', (_: HandlerContext, child: Job) => outer.enqueue(child, {})],
  ])('are inherited by what is enqueued with %s', async (_, enqueue) => {
    const child = job({ name: 'child', queue: 'children' });
    const parent = job({ name: 'parent', handle: (__, ctx) => enqueue(ctx, child) });
    const b = bench({ jobs: [parent, child] });
    outer = b.client;
    await b.once(parent, {}, { context });
    const { lease } = await b.take(60_000, ['children']);
    const read = readEnvelope(lease.body, { ring, now: startMs, maxBytes: 1_048_576 });
    expect(read.context).toEqual(context);
  });
  let outer: ReturnType<typeof bench>['client'];

  it('are replaced by the context that ctx.enqueue is given', async () => {
    const child = job({ name: 'child', queue: 'children' });
    const other = { tenantId: 'other' };
    const parent = job({ name: 'parent', handle: (_, ctx) => ctx.enqueue(child, {}, { context: other }) });
    const b = bench({ jobs: [parent, child] });
    await b.once(parent, {}, { context });
    const { lease } = await b.take(60_000, ['children']);
    expect(readEnvelope(lease.body, { ring, now: startMs, maxBytes: 1_048_576 }).context).toEqual(other);
  });
});

describe('what is told', () => {
  const facts = { id: 'id-1', job: 'work', queue: 'default', attempt: 1, ...context };

  it('of a job that is done', async () => {
    const one = job({ handle: (_, ctx) => ctx.log('halfway', { lines: 3 }) });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, { secret: 'hunter2' }, { context });
    const run = await b.take();
    await b.run(run);
    expect(b.events).toEqual([
      { type: 'job.started', ...facts },
      { type: 'job.log', ...facts, message: 'halfway', fields: { lines: 3 } },
      {
        type: 'job.settled',
        waits: null,
        ...facts,
        outcome: 'acked',
        settled: true,
        counted: true,
        durationMs: 0,
        waitMs: 0,
        delayMs: null,
        reason: null,
        error: null,
        cause: null,
      },
    ]);
    expect(JSON.stringify(b.events)).not.toContain('hunter2');
  });

  it('of a job that fails', async () => {
    const one = job({
      handle: () => {
        b.clock.advance(250);
        throw new Error('down');
      },
    });
    const b = bench({ jobs: [one] });
    await b.once(one, {}, { maxRetries: 0 });
    expect(b.events.at(-1)).toMatchObject({
      type: 'job.settled',
      outcome: 'dead-lettered',
      durationMs: 250,
      reason: 'exhausted',
      error: 'HANDLER: down',
      tenantId: null,
    });
  });

  it('is told to every listener, until it stops listening, and a broken one harms nobody', async () => {
    const one = job();
    const b = bench({ jobs: [one] });
    const heard: string[] = [];
    b.app.events.on(() => {
      throw new Error('broken log sink');
    });
    const stop = b.app.events.on(({ type }) => heard.push(type));
    expect((await b.once(one)).settled).toBe(true);
    stop();
    await b.once(one);
    expect(heard).toEqual(['job.enqueued', 'job.started', 'job.settled']);
    expect(b.kinds()).toHaveLength(4);
  });
});

describe('a listener that is async and rejects', () => {
  it('does not end the process', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const one = job();
    const b = bench({ jobs: [one] });
    b.app.events.on(() => Promise.reject(new Error('broken log sink')));
    expect((await b.once(one)).settled).toBe(true);
    for (let i = 0; i < 5; i++) await setImmediate();
    expect(unhandled).toEqual([]);
  });
});

describe('progress', () => {
  it.each<[wrong: unknown[], got: string]>([
    [[Number.NaN], 'NaN, null, null'],
    [[Number.POSITIVE_INFINITY], 'Infinity, null, null'],
    [['5'], '"5", null, null'],
    [[], 'undefined, null, null'],
    [[1, Number.NaN], '1, NaN, null'],
    [[1, 2, 3], '1, 2, 3'],
  ])('%j is refused at once, and nothing is written', async (wrong, got) => {
    const one = job({
      maxRetries: 0,
      handle: (_, ctx) => void (ctx.progress as (...args: unknown[]) => unknown)(...wrong),
    });
    const b = bench({ jobs: [one] });
    const { error } = await b.once(one);
    expect(error).toEqual({
      code: 'OPTION',
      message: `Expected ctx.progress(number, number?, text?), got ${got}.`,
      stack: expect.stringContaining('flow-context.test.ts'),
    });
    expect((await b.client.status('id-1'))?.progress).toBeNull();
  });

  it('has the start of a message that is too long', async () => {
    const one = job({ handle: (_, ctx) => ctx.progress(1, 2, 'x'.repeat(5_000_000)) });
    const b = bench({ jobs: [one] });
    expect(await b.once(one)).toMatchObject({ outcome: 'acked' });
    expect((await b.client.status('id-1'))?.progress?.message).toBe(`${'x'.repeat(999)}…`);
  });

  it('is shown by status()', async () => {
    const one = job({
      async handle(_, ctx) {
        await ctx.progress(1);
        seen.push((await b.client.status(ctx.id))?.progress);
        await ctx.progress(5, 10, 'half');
      },
    });
    const seen: unknown[] = [];
    const b = bench({ jobs: [one] });
    await b.once(one);
    expect(seen).toEqual([{ done: 1, total: null, message: null, at: startMs }]);
    expect((await b.client.status('id-1'))?.progress).toEqual({
      done: 5,
      total: 10,
      message: 'half',
      at: startMs,
    });
  });
});
