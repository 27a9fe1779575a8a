/** Steps, sleeps, waits and events of a handler in an isolate: the worker remembers, the isolate does the work. */

import { afterAll, describe, expect, it } from 'vitest';
import { createInbox } from '../../../../core/features/sandbox/inbox.ts';
import type { Isolate } from '../../../../core/features/sandbox/isolate.ts';
import type { ToIsolate } from '../../../../core/features/sandbox/messages.ts';
import { createStepsOutside } from '../../../../core/features/sandbox/steps-outside.ts';
import { nameOfJob } from '../../../../core/features/steps/log.ts';
import type { HandlerContext } from '../../../../core/kernel/app/job.ts';
import * as jobs from '../jobs.ts';
import { createBench } from '../kit.ts';

describe.each([
  ['thread', jobs.heldThread],
  ['process', jobs.heldProcess],
] as const)('steps of a handler in a %s', (_, job) => {
  const t = createBench(Object.values(jobs), { concurrency: 4 });
  afterAll(() => t.worker.stop());

  it('are done once over all attempts, also when the isolate dies in one', async () => {
    const { id } = await t.client.enqueue(job, { act: 'story' });
    await expect.poll(() => t.client.emit('go', { by: 'Anna' }, { key: id }), { timeout: 10_000 }).toBe(1);
    await expect.poll(async () => (await t.client.status(id))?.status, { timeout: 10_000 }).toBe('completed');
    const record = (await t.client.status(id))!;
    expect(record.output).toEqual({
      ...{ first: { key: 'first', live: true }, died: true, payload: { by: 'Anna' }, ran: [] },
    });
    expect(record.attempts.map(({ error }) => error?.code ?? null)).toEqual(['HANDLER', null]);
    expect(await t.client.stores.steps!.read(nameOfJob(id))).toBeNull();
  });

  it('are refused with the errors that they meet outside', async () => {
    expect(await t.run(job, { act: 'emits' })).toMatchObject({ output: 0 });
    const { output } = await t.run(job, { act: 'wrongSteps' });
    expect(output).toEqual([
      ...[true, 'OPTION', 'OPTION', 'CONFIG', 'OPTION', 'OPTION'],
      ...['OPTION', 'PAYLOAD', 'OPTION', 'CONFIG'],
    ]);
    for (const act of ['keepsDate', 'keepsMuch'])
      expect(await t.run(job, { act })).toMatchObject({ status: 'failed', reason: 'permanent' });
  });

  it('end the attempt at a sleep, whatever the handler does with the error', async () => {
    const { id } = await t.client.enqueue(job, { act: 'catchesAll' });
    const settled = () => t.eventsOf('job.settled').filter((event) => event.id === id);
    await expect.poll(settled).toMatchObject([{ outcome: 'requeued', counted: false, error: null }]);
  });

  it('may be many at once, and left alone by a handler that has ended', async () => {
    expect((await t.run(job, { act: 'manySteps', n: 300 })).output).toEqual({ done: 300, codes: [] });
    expect(await t.run(job, { act: 'leavesStep' })).toMatchObject({ status: 'completed' });
    expect(await t.run(job, { act: 'quick', n: 1 })).toMatchObject({ output: 2 });
  });
});

describe('what comes out of an isolate about steps', () => {
  it('counts with the shape of its type only', () => {
    let floods = 0;
    const inbox = createInbox('n', () => floods++);
    const read = (data: object) => inbox.read({ nonce: 'n', ...data }) !== null;
    expect(read({ type: 'did', ask: 1, text: '{"a":1}' })).toBe(true);
    expect(read({ type: 'did', ask: 1, text: null })).toBe(true);
    for (const text of [undefined, 1, {}, '{', 'undefined', JSON.stringify('x'.repeat(262_144))])
      expect(read({ type: 'did', ask: 1, text })).toBe(false);
    expect(read({ type: 'did', ask: '1', text: null })).toBe(false);
    expect(read({ type: 'undone', ask: 1, error: null })).toBe(false);
    for (let i = 0; i < 1_000; i++) read({ type: 'undone', ask: 1 });
    expect(floods).toBe(1);
  });

  it('is taken for a step that runs, once, and for no other', async () => {
    const sent: ToIsolate[] = [];
    const isolate = { send: (message: ToIsolate) => void sent.push(message) } as Isolate;
    const ctx = {
      step: (name: string, work: (given: { idempotencyKey: string }) => unknown) =>
        work({ idempotencyKey: `id:${name}` }),
    } as unknown as HandlerContext;
    const steps = createStepsOutside(isolate, ctx);
    const first = steps.grant(1, { verb: 'step', name: 'a' });
    await expect(steps.grant(1, { verb: 'step', name: 'b' })).rejects.toMatchObject({ code: 'OPTION' });
    expect(sent).toEqual([{ type: 'work', ask: 1, idempotencyKey: 'id:a' }]);
    steps.ended({ type: 'did', ask: 2, text: '1' });
    steps.ended({ type: 'did', ask: 1, text: '"mine"' });
    steps.ended({ type: 'did', ask: 1, text: '"again"' });
    expect(await first).toBe('mine');
    const second = steps.grant(3, { verb: 'step', name: 'c' });
    steps.end(new Error('over'));
    await expect(second).rejects.toThrow('over');
    await expect(steps.grant(4, { verb: 'step', name: 'd' })).rejects.toThrow('over');
    expect(sent).toHaveLength(2);
    const hanging = { ...ctx, sleep: () => new Promise<void>(() => {}) };
    const many = createStepsOutside(isolate, hanging);
    for (let n = 0; n < 1_000; n++) void many.grant(n, { verb: 'sleep', time: 1 });
    await expect(many.grant(1_000, { verb: 'sleep', time: 1 })).rejects.toMatchObject({ code: 'LIMIT' });
  });
});
