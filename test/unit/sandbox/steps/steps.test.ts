/** Steps, sleeps, waits and events of a handler in an isolate: the worker remembers, the isolate does the work. */

import { afterAll, describe, expect, it } from 'vitest';
import { createCallsOutside } from '../../../../core/features/sandbox/calls-outside.ts';
import { createInbox } from '../../../../core/features/sandbox/inbox.ts';
import type { Isolate } from '../../../../core/features/sandbox/isolate.ts';
import type { ToIsolate } from '../../../../core/features/sandbox/messages.ts';
import { isolatedStep } from '../../../../core/features/steps/isolated.ts';
import { nameOfJob } from '../../../../core/features/steps/stored.ts';
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
  const t = createBench([jobs.plain]);
  afterAll(() => t.worker.stop());

  it('counts with the shape of its type only', () => {
    let floods = 0;
    const inbox = createInbox('n', () => floods++);
    const read = (data: object) => inbox.read({ nonce: 'n', ...data }) !== null;
    expect(read({ type: 'did', ask: 1, value: undefined })).toBe(true);
    expect(read({ type: 'did', ask: '1', value: null })).toBe(false);
    expect(read({ type: 'ask', ask: 1, member: 'step', args: ['a'] })).toBe(true);
    for (const bad of [{ ask: '1' }, { member: 1 }, { args: {} }, { args: undefined }])
      expect(read({ type: 'ask', ask: 1, member: 'step', args: ['a'], ...bad })).toBe(false);
    expect(read({ type: 'undone', ask: 1, error: null })).toBe(false);
    for (let i = 0; i < 1_000; i++) read({ type: 'undone', ask: 1 });
    expect(floods).toBe(1);
  });

  it('is a result only as JSON, and of a bounded size', async () => {
    const resultOf = async (text: unknown) => {
      const worker = { app: null as never, work: async () => text };
      const [, work] = isolatedStep.receive!(worker, 'a' as never) as [
        string,
        (it: object) => Promise<unknown>,
      ];
      return work({ idempotencyKey: 'k' });
    };
    expect(await resultOf('{"a":1}')).toEqual({ a: 1 });
    expect(await resultOf(null)).toBeUndefined();
    for (const bad of [undefined, 1, {}, '{', 'undefined', JSON.stringify('x'.repeat(262_144))])
      await expect(resultOf(bad)).rejects.toThrow();
  });

  it('is taken for a step that runs, once, and for no other', async () => {
    const sent: ToIsolate[] = [];
    const isolate = { send: (message: ToIsolate) => void sent.push(message) } as Isolate;
    const ctx = {
      step: (name: string, work: (given: { idempotencyKey: string }) => unknown) =>
        work({ idempotencyKey: `id:${name}` }),
      sleep: () => new Promise<void>(() => {}),
    } as unknown as HandlerContext;
    const calls = createCallsOutside(t.app, isolate, ctx);
    const call = (ask: number, member: string, ...args: unknown[]) =>
      calls.call({ type: 'ask', ask, member, args });
    const first = call(1, 'step', 'a');
    await expect(call(1, 'step', 'b')).rejects.toMatchObject({ code: 'OPTION' });
    expect(sent).toEqual([{ type: 'work', ask: 1, given: 'id:a' }]);
    calls.ended({ type: 'did', ask: 2, value: '1' });
    calls.ended({ type: 'did', ask: 1, value: '"mine"' });
    calls.ended({ type: 'did', ask: 1, value: '"again"' });
    expect(await first).toBe('mine');
    const second = call(3, 'step', 'c');
    second.catch(() => {});
    await expect.poll(() => sent).toHaveLength(2);
    calls.end(new Error('over'));
    await expect(second).rejects.toThrow('over');
    await expect(call(4, 'step', 'd')).rejects.toThrow('over');
    expect(sent).toHaveLength(2);
    for (let n = 10; n < 1_010; n++) void call(n, 'sleep', 1);
    await expect(call(1_010, 'sleep', 1)).rejects.toMatchObject({
      code: 'LIMIT',
      message: expect.stringContaining('at most 1000 open calls of ctx.sleep()'),
    });
    for (const member of ['tx', 'id', 'toString', '__proto__'])
      await expect(call(2_000, member)).rejects.toMatchObject({ code: 'CONFIG' });
  });
});
