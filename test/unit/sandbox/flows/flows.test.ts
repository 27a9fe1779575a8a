/** Batches and chains of a handler in an isolate: the items come from there, and the worker sends them. */

import { afterAll, describe, expect, it } from 'vitest';
import { isChunk, isolatedBatch, mostItemChars } from '../../../../core/features/batches/isolated.ts';
import type { HandlerContext } from '../../../../core/index.ts';
import { createBench } from '../kit.ts';
import * as jobs from './jobs.ts';

const { unknown: _, ...known } = jobs;

describe.each([
  ['thread', jobs.threaded],
  ['process', jobs.forked],
] as const)('a handler in a %s', (_, job) => {
  const t = createBench(Object.values(known), { concurrency: 20 });
  afterAll(() => t.worker.stop());

  it('sends a batch from a stream, and sleeps until it has ended', async () => {
    const how = { context: { tenantId: 'acme' } };
    const record = await t.run(job, { act: 'batch' }, how);
    const results = Array.from({ length: 250 }, (_, n) => (n % 2 ? n * 2 : n));
    expect(record).toMatchObject({ status: 'completed', output: { results, succeeded: 250 } });
    const { id } = record.output as { id: string };
    expect(await t.client.status(`batch.${id}.4`)).toMatchObject({ job: 'length', name: 'no. 4' });
    const called = `batch-end.${id}.onComplete.1`;
    await expect.poll(async () => (await t.client.status(called))?.output).toBe('acme');
  });

  it('goes on with the same batch after its isolate has died half-way', async () => {
    const record = await t.run(job, { act: 'again' });
    expect(record.attempts.map(({ error }) => error?.code ?? null)).toEqual(['HANDLER', null]);
    const { id, total } = record.output as { id: string; total: number };
    expect(total).toBe(300);
    await expect.poll(async () => (await t.client.batches.get(id))?.succeeded).toBe(300);
    const ran = t.eventsOf('job.started').filter((event) => event.id.startsWith(`batch.${id}.`));
    expect(ran).toHaveLength(300);
  });

  it('hears what is wrong as one outside does, and its streams are closed', async () => {
    const { output } = await t.run(job, { act: 'wrong' });
    const { said, closed } = output as { said: [string, string][]; closed: number };
    expect(said.map(([code]) => code)).toEqual([
      ...['OPTION', 'OPTION', 'UNKNOWN_JOB', 'BATCH', 'BATCH', 'BATCH', 'BATCH', 'BATCH'],
      ...['NOT_FOUND', 'UNKNOWN_JOB', 'OPTION', 'PAYLOAD'],
    ]);
    expect(said[3]![1]).toContain('item 1 (counted from 0) was refused');
    expect(said[4]![1]).toContain('item 1 (counted from 0) was refused');
    expect(said[5]![1]).toContain('no more. 2 of its items were sent');
    expect(said[6]![1]).toContain('The batch has stopped: no child. 0 of its items were sent');
    expect(said[7]![1]).toContain('cannot leave the isolate');
    expect(closed).toBe(3); // those of which an item was asked for
  });

  it('starts a chain, once for an id', async () => {
    const { output } = await t.run(job, { act: 'chain' });
    const { chain, again } = output as Record<'chain' | 'again', { id: string; ids: string[] }>;
    expect(again).toMatchObject({ id: 'video-1', duplicate: true });
    expect(await t.client.result(jobs.sum, chain.ids[2]!, { timeoutMs: 10_000 })).toBe(20);
  });

  it('that has ended sends no more of a batch', async () => {
    expect(await t.run(job, { act: 'leaves' })).toMatchObject({ status: 'completed' });
    expect(await t.run(job, { act: 'wrong' })).toMatchObject({ status: 'completed' });
  });
});

describe('the items of a batch', () => {
  it('are read when they are asked for, and cross in bounded chunks', async () => {
    let read = 0;
    function* endless() {
      for (;;) yield { n: read++ < 200 ? 'x' : 'x'.repeat(100_000) };
    }
    const options = { job: { name: 'job' } };
    const { work } = isolatedBatch.send!(
      { context: {} } as HandlerContext,
      ...(['b', endless(), options] as never[]),
    );
    expect(read).toBe(0);
    const sizes: number[] = [];
    for (let i = 0; i < 4; i++) sizes.push(((await work!(100)) as { items: unknown[] }).items.length);
    expect(sizes).toEqual([100, 100, 3, 3]);
    expect(read).toBe(206);
  });

  it('count with the shape of their type only', () => {
    const item = { job: null, payload: '1', options: undefined, error: null };
    const reads = (items: unknown, more: object = {}) =>
      isChunk({ items, done: false, error: null, ...more });
    const large = { ...item, payload: 'x'.repeat(mostItemChars) };
    expect(reads([item, { ...item, job: 'a', payload: null }, large])).toBe(true);
    expect(reads([], { done: true })).toBe(true);
    for (const bad of [null, [null], [{ ...item, job: 1 }], [{ ...item, payload: {} }], [large, item]])
      expect(reads(bad)).toBe(false);
    expect(isChunk(null)).toBe(false);
    expect(reads(Array(101).fill(item))).toBe(false);
    for (const bad of [{ done: 1 }, { error: {} }, { error: undefined }]) expect(reads([], bad)).toBe(false);
  });
});
