/** Batches that hand on what their children return, and jobs that wait for a batch. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { createApp, defineJob, type LongshoreEvent } from '../../../core/index.ts';
import { testApp } from '../../testing/index.ts';

function office() {
  const broken = new Set<number>();
  const reports: unknown[] = [];
  const calls: string[] = [];
  const events: LongshoreEvent[] = [];
  let size = 1;
  const double = defineJob({
    name: 'double',
    payload: z.number(),
    maxRetries: 0,
    handle(n) {
      if (broken.has(n)) throw new Error(`${n} is broken`);
      return { n: n * 2, text: 'x'.repeat(size) };
    },
  });
  const report = defineJob({
    name: 'report',
    payload: z.object({
      batchId: z.string(),
      name: z.string(),
      results: z.array(z.object({ n: z.number(), text: z.string() })),
      to: z.string(),
    }),
    handle({ results, to, name }) {
      reports.push([name, to, results.map(({ n }) => n)]);
    },
  });
  const call = (name: string) =>
    defineJob({ name, payload: z.object({ batchId: z.string() }), handle: () => void calls.push(name) });
  const [onSuccess, onFailure, onComplete] = [call('success'), call('failure'), call('complete')];
  const t = testApp(
    createApp({
      jobs: [double, report, onSuccess, onFailure, onComplete],
      on: (event) => void events.push(event),
    }),
  );
  const send = (count: number) =>
    t.client.batch(
      'doubles',
      Array.from({ length: count }, (_, n) => n),
      {
        ...{
          id: 'd',
          job: double,
          onResults: report,
          resultsPayload: { to: 'anna' },
          onSuccess,
          onFailure,
          onComplete,
        },
      },
    );
  const grow = (chars: number) => {
    size = chars;
  };
  return { ...t, broken, reports, calls, events, send, grow, double };
}

describe('onResults', () => {
  it('is given what all children have returned, in the order of the items, once', async () => {
    const { client, drain, reports, calls, send, clock } = office();
    await send(12);
    await drain();
    expect(reports).toEqual([['doubles', 'anna', Array.from({ length: 12 }, (_, n) => n * 2)]]);
    expect(calls.toSorted()).toEqual(['complete', 'success']);
    expect(await client.stores.steps!.read('result:d:3')).toBe(null);
    clock.advance(120_000);
    await lookAtBatches(client);
    expect(await drain()).toEqual([]);
  });

  it.each(['retryFailed', 'dead letters'])(
    'waits for children that have failed, retried by %s',
    async (by) => {
      const { client, backend, drain, reports, calls, broken, send } = office();
      broken.add(1).add(2);
      await send(3);
      await drain();
      expect([reports, calls.toSorted()]).toEqual([[], ['complete', 'failure']]);
      broken.clear();
      if (by === 'retryFailed') await client.batches.retryFailed('d');
      else await backend.admin!.deadLetters.retry(['batch.d.2', 'batch.d.1']);
      await drain();
      expect(reports).toEqual([['doubles', 'anna', [0, 2, 4]]]);
    },
  );

  it('is a failure of the batch where the results are too large together', async () => {
    const { client, drain, reports, calls, events, send, grow, clock } = office();
    grow(60_000);
    await send(20);
    await drain();
    expect([reports, calls.toSorted()]).toEqual([[], ['complete', 'failure']]);
    const warnings = events.flatMap((event) => (event.type === 'backend.warning' ? event.message : []));
    expect(warnings).toMatchObject([
      /^All children of batch d \(doubles\) have succeeded, .* job "report": .*1048576/,
    ]);
    clock.advance(120_000);
    await lookAtBatches(client);
    expect(await drain()).toEqual([]);
  });

  it('is given nothing that somebody else has written into the store, or moved there', async () => {
    for (const forge of [(text: string) => text.replace('\\"n\\":0', '\\"n\\":9'), null]) {
      const { client, drain, reports, calls, events, broken, send } = office();
      const { steps } = client.stores;
      broken.add(2);
      await send(3);
      await drain();
      const [mine, other] = await Promise.all(['result:d:0', 'result:d:1'].map((name) => steps!.read(name)));
      const text = forge ? forge(mine!.text) : other!.text;
      expect(text).not.toBe(mine!.text);
      await steps!.write('result:d:0', text, mine!.version, Number.MAX_SAFE_INTEGER);
      broken.clear();
      await client.batches.retryFailed('d');
      calls.length = 0;
      await drain();
      expect([reports, calls.toSorted()]).toEqual([[], ['complete', 'failure']]);
      expect(events).toContainEqual(
        expect.objectContaining({ message: expect.stringMatching(/signature/i) }),
      );
    }
  });

  it('of too many children is refused, and so is resultsPayload alone', async () => {
    const { client, double, send } = office();
    await expect(send(10_001)).rejects.toThrow(/at most 10000 items.* 10000 of its items were sent/);
    await expect(client.batch('x', [1], { job: double, resultsPayload: { a: 1 } })).rejects.toThrow(
      'resultsPayload of batch "x", got none',
    );
    await expect(client.batch('x', [1], { job: double, with: { a: 1 } } as never)).rejects.toThrow(
      'Option with of batch() is called resultsPayload now.',
    );
  });
});

describe('a job that waits for a batch', () => {
  it('sleeps until it has ended, also when batches nest', async () => {
    const ran: string[] = [];
    const leaf = defineJob({
      name: 'leaf',
      payload: z.object({ of: z.string(), n: z.number() }),
      handle({ of, n }) {
        ran.push(`${of}.${n}`);
        return n;
      },
    });
    const inner = defineJob({
      name: 'inner',
      payload: z.string(),
      maxRetries: 0,
      async handle(of, ctx) {
        const items = Array.from({ length: 5 }, (_, n) => ({ of, n }));
        const batch = await ctx.batch('leaves', items, { job: leaf, keepResults: true });
        const end = await ctx.waitForBatch<number>(batch, { timeoutMs: '1h' });
        return end!.results!.reduce<number>((sum, n) => sum + n!, 0);
      },
    });
    const outer = defineJob({
      name: 'outer',
      payload: z.null(),
      maxRetries: 0,
      async handle(_, ctx) {
        const batch = await ctx.batch('inner', ['a', 'b', 'c'], { job: inner, keepResults: true });
        return ctx.waitForBatch(batch.id, { timeoutMs: '1h' });
      },
    });
    const { client, drain } = testApp(createApp({ jobs: [leaf, inner, outer] }));
    const { id } = await client.enqueue(outer, null);
    await drain();
    expect(await client.result(outer, id, { timeoutMs: 0 })).toEqual({
      ...{ total: 3, succeeded: 3, failed: 0 },
      results: [10, 10, 10],
    });
    expect(ran.length).toBe(15);
    expect(new Set(ran).size).toBe(15);
  });

  it('goes on with null when it has not ended in time, and is told of one that is not known', async () => {
    const { client, double } = office();
    await client.batch('late', [1], { id: 'late', job: double, options: { delayMs: 86_400_000 } });
    const wait = defineJob({
      name: 'wait',
      payload: z.string(),
      maxRetries: 0,
      handle: (id, ctx) => ctx.waitForBatch(id, { timeoutMs: '1m' }),
    });
    const t = testApp(createApp({ jobs: [wait, double] }));
    await t.client.batch('late', [1], { id: 'late', job: double, options: { delayMs: 86_400_000 } });
    const { id } = await t.client.enqueue(wait, 'late');
    await t.client.enqueue(wait, 'none');
    await t.drain();
    t.advance('61s');
    await t.drain();
    expect(await t.status(id)).toMatchObject({ status: 'completed', output: null });
    expect(await t.deadLetters()).toMatchObject([
      { error: expect.stringContaining('There is no batch "none" here.') },
    ]);
  });
});
