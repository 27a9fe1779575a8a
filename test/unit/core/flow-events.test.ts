/** Jobs that wait for an event, and those who emit it. */

import { describe, expect, it, vi } from 'vitest';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { bench, job } from './kit.ts';

const day = 86_400_000;

describe('waitFor', () => {
  const waiting = (timeoutMs: number | string = '3d', key?: string) =>
    job({
      async handle(_, ctx) {
        const got = await ctx.waitFor('approved', { timeoutMs, ...(key !== undefined && { key }) });
        return got ?? 'nothing came';
      },
    });

  it('goes on with the event, at once', async () => {
    const work = waiting('3d', 'doc-7');
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued', counted: false });
    expect(await b.client.emit('approved', 1)).toBe(0);
    expect(await b.client.emit('approved', 1, { key: 'doc-8' })).toBe(0);
    b.clock.advance(5_000);
    expect(await b.client.emit('approved', { by: 'Anna' }, { key: 'doc-7' })).toBe(1);
    expect(await b.client.emit('approved', { by: 'Ben' }, { key: 'doc-7' })).toBe(0);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
    const { output } = (await b.client.status('id-1'))!;
    expect(output).toEqual({ payload: { by: 'Anna' }, emittedAt: b.clock.now() });
  });

  it('goes on with null when nothing has come in time, and an event after that changes nothing', async () => {
    const seen: unknown[] = [];
    const work = job({
      async handle(_, ctx) {
        seen.push(await ctx.waitFor('approved', { timeoutMs: 60_000 }));
        if (ctx.attempt === 1) {
          await b.client.emit('approved', 'late');
          throw new Error('once more');
        }
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    b.clock.advance(60_000);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', counted: true });
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(seen).toEqual([null, null]);
  });

  it('asks by itself every hour, and sleeps on', async () => {
    const work = waiting();
    const b = bench({ jobs: [work] });
    expect(await b.once(work)).toMatchObject({ delayMs: 3_600_000 });
    b.clock.advance(3_600_000);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', counted: false, delayMs: 3_600_000 });
    expect(await b.client.emit('approved')).toBe(1);
    await b.next();
    expect((await b.client.status('id-1'))!.output).toMatchObject({ emittedAt: b.clock.now() });
  });

  it('hears an event that came before the job was back in its queue', async () => {
    const work = waiting();
    const b = bench({ jobs: [work] });
    const { nack } = b.backend;
    b.backend.nack = async (...how) => {
      expect(await b.client.emit('approved', 'early')).toBe(1);
      return nack(...how);
    };
    await b.once(work);
    b.backend.nack = nack;
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('is woken by an emit that is made again, when the first one could not wake it', async () => {
    const work = waiting();
    const b = bench({ jobs: [work] });
    await b.once(work);
    vi.spyOn(b.backend.pending!, 'change').mockRejectedValueOnce(new Error('away'));
    await expect(b.client.emit('approved', 1)).rejects.toThrow('away');
    expect(await b.client.emit('approved', 2)).toBe(0);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect((await b.client.status('id-1'))!.output).toMatchObject({ payload: 1 });
  });

  it('is woken when a batch has ended, though the first try to wake it fails', async () => {
    const child = job({ name: 'child', queue: 'children' });
    const work = job({
      async handle(_, ctx) {
        return (await ctx.waitForBatch('b', { timeoutMs: '1d' }))?.total;
      },
    });
    const b = bench({ jobs: [work, child] });
    await b.client.batch('all', [1], { job: child, id: 'b' });
    await b.once(work);
    vi.spyOn(b.backend.pending!, 'change').mockRejectedValueOnce(new Error('away'));
    expect(await b.run(await b.take(60_000, ['children']))).toMatchObject({ outcome: 'acked' });
    b.clock.advance(5 * 60_000);
    await lookAtBatches(b.client);
    const ended = await b.next();
    expect((await b.client.status(ended.id!))!.output).toBe(1);
  });

  it('gets an event that was kept, and none that was not', async () => {
    const work = waiting();
    const b = bench({ jobs: [work] });
    await b.client.emit('approved', 'not kept');
    await b.client.emit('approved', 'kept', { keepMs: 1_000 });
    b.clock.advance(999);
    expect(await b.once(work)).toMatchObject({ outcome: 'acked' });
    b.clock.advance(1);
    expect(await b.once(work)).toMatchObject({ outcome: 'requeued' });
  });

  it('reaches the others when one job remembers too much to take it, and says so', async () => {
    const work = job({
      async handle(payload, ctx) {
        const big = () => ctx.step('big', () => 'x'.repeat(payload.letters));
        const [event] = await Promise.all([ctx.waitFor('go', { timeoutMs: '1d' }), big()]);
        return event?.payload;
      },
    });
    const b = bench({ jobs: [work] });
    for (const letters of [1, 250_000, 2]) await b.once(work, { letters });
    await expect(b.client.emit('go', 'y'.repeat(60_000))).rejects.toMatchObject({
      ...{ code: 'LIMIT', message: expect.stringMatching(/^Job id-2 did not get event "go"/) },
    });
    for (let i = 0; i < 2; i++) expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(await b.client.emit('go', 'short')).toBe(1);
    expect(await b.next()).toMatchObject({ outcome: 'acked', id: 'id-2' });
  });

  it('does not reach a job that was cancelled while it waited, which leaves nothing behind', async () => {
    const b = bench({ jobs: [waiting()] });
    await b.once(b.app.jobs.get('work')!);
    expect(await b.client.cancel('id-1')).toBe('cancelled');
    expect(await b.client.stores.steps!.read('job:id-1')).toBeNull();
    expect(await b.client.emit('approved')).toBe(0);
  });

  it('has a name of its own for each key, however long', async () => {
    const work = job({
      async handle(_, ctx) {
        const [a, z] = ['a', 'z'].map((end) => `${'k'.repeat(200)}${end}`);
        const first = await ctx.waitFor('go', { key: a!, timeoutMs: '1d' });
        return [first?.payload, (await ctx.waitFor('go', { key: z!, timeoutMs: '1d' }))?.payload];
      },
    });
    const b = bench({ jobs: [work] });
    await b.once(work);
    await b.client.emit('go', 1, { key: `${'k'.repeat(200)}a` });
    await b.next();
    await b.client.emit('go', 2, { key: `${'k'.repeat(200)}z` });
    await b.next();
    expect((await b.client.status('id-1'))!.output).toEqual([1, 2]);
  });

  it('reaches all jobs that wait, also those of several waits', async () => {
    const work = job({
      async handle(_, ctx) {
        const both = await Promise.allSettled([
          ctx.waitFor('go', { timeoutMs: '1d', name: 'first' }),
          ctx.waitFor('go', { timeoutMs: '1d', name: 'second' }),
        ]);
        return both.map(({ status }) => status);
      },
    });
    const b = bench({ jobs: [work] });
    for (let i = 0; i < 3; i++) await b.once(work);
    expect(await b.client.emit('go')).toBe(3);
    for (let i = 0; i < 3; i++) expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect((await b.client.status('id-3'))!.output).toEqual(['fulfilled', 'fulfilled']);
  });

  it('asks again within a minute where the queue wakes no job', async () => {
    const work = waiting();
    const b = bench({ jobs: [work] });
    (b.client as { backend: object }).backend = { ...b.backend, pending: undefined };
    expect(await b.once(work)).toMatchObject({ delayMs: 1_000 });
    b.clock.advance(1_000);
    expect(await b.next()).toMatchObject({ delayMs: 1_000 });
    b.clock.advance(9_000);
    expect(await b.next()).toMatchObject({ delayMs: 10_000 });
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ delayMs: 60_000 });
  });

  it('refuses what is wrong, with words', async () => {
    const b = bench({ jobs: [] });
    const texts = [];
    for (const args of [
      ['a b'],
      ['longshore.batch-end', {}, { key: 'x' }],
      ['a', () => 1],
      ['a', 1, { key: '' }],
      ['a', 1, { keepMs: -1 }],
      ['a', 'x'.repeat(70_000)],
    ])
      texts.push(
        await b.client.emit(...(args as [string])).catch((error) => `${error.code}: ${error.message}`),
      );
    expect(texts).toEqual([
      expect.stringMatching(/^OPTION: Expected the name of an event to match/),
      expect.stringMatching(/^OPTION: .* not to begin with "longshore\."/),
      expect.stringMatching(/^PAYLOAD: Expected plain JSON data at payload, got a function/),
      'OPTION: Expected the key of event "a" to be a text of 1 to 256 characters, got "".',
      'OPTION: Expected keepMs of emit() to be an integer from 0 to 2592000000 (30 days), got -1.',
      expect.stringMatching(
        /^LIMIT: Expected the payload of event "a" to have at most 65536 characters, got 70002/,
      ),
    ]);
  });
});
