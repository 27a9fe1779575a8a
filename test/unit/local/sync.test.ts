import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, type Job, keyRing } from '../../../core/index.ts';
import { sync } from '../../../local/backends/sync.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

function bench(fails = 0) {
  const clock = createVirtualClock();
  const log: string[] = [];
  let left = fails;
  const child = defineJob({ name: 'child', payload: z.null(), handle: async () => void log.push('child') });
  const parent: Job<{ n: number }> = defineJob({
    name: 'parent',
    payload: z.object({ n: z.number() }),
    retry: fixed(1_000),
    async handle({ n }, ctx) {
      if (left-- > 0) throw new Error('not yet');
      log.push(`parent ${n}`);
      await ctx.enqueue(child, null);
      log.push(`parent ${n} ends`);
    },
  });
  const app = createApp({
    jobs: [parent, child],
    queues: { elsewhere: {} },
    clock,
    signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
  });
  return { clock, log, parent, client: connect(app, sync(app)) };
}

describe('the sync backend', () => {
  it('has run the job, and what it enqueued, when enqueue returns', async () => {
    const t = bench();
    const { id } = await t.client.enqueue(t.parent, { n: 1 });
    expect(t.log).toEqual(['parent 1', 'parent 1 ends', 'child']);
    expect(await t.client.status(id)).toMatchObject({ status: 'completed' });
  });

  it('leaves a retry for the next enqueue that finds it due', async () => {
    const t = bench(1);
    const { id } = await t.client.enqueue(t.parent, { n: 1 });
    expect(await t.client.status(id)).toMatchObject({ status: 'retrying' });
    t.clock.advance(1_000);
    await t.client.enqueue(t.parent, { n: 2 });
    expect(await t.client.status(id)).toMatchObject({ status: 'completed' });
    expect(t.log).toEqual(['parent 1', 'parent 1 ends', 'parent 2', 'parent 2 ends', 'child', 'child']);
  });

  it('leaves a delayed job alone until it is due', async () => {
    const t = bench();
    const { id } = await t.client.enqueue(t.parent, { n: 1 }, { delayMs: 5_000 });
    expect(await t.client.status(id)).toMatchObject({ status: 'pending' });
    expect(t.log).toEqual([]);
  });

  it('runs a job on a queue that only options name', async () => {
    const t = bench();
    await t.client.enqueue(t.parent, { n: 1 }, { queue: 'elsewhere' });
    expect(t.log).toContain('parent 1 ends');
  });
});
