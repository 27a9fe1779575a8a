/** Jobs whose process has ended twice: one of them may be the cause, so they run alone. */

import { describe, expect, it } from 'vitest';
import { createBench, settle } from './kit.ts';

const second = 1_000;

/** An outsider takes the jobs and vanishes, as often as it says. */
async function crashed(times: number, jobs: number, job: Parameters<typeof createBench>[0] = {}) {
  const t = createBench(job);
  const vanish = async (ms: number) => {
    await t.backend.fetch({ queues: ['default'], max: 100, leaseMs: ms, waitMs: 0 });
  };
  await t.enqueue(jobs);
  for (let n = 0; n < times; n++) {
    await vanish(second);
    t.clock.advance(second);
    await t.backend.reapExpired('default');
  }
  return { ...t, vanish, stats: async () => (await t.backend.admin!.stats())[0]! };
}

describe('a worker whose jobs have ended their process', () => {
  it('runs them side by side once more', async () => {
    const t = await crashed(1, 5);
    const worker = t.start();
    await settle();
    expect(worker.running()).toBe(5);
    for (const one of [...t.running]) one.finish();
    await worker.stop();
  });

  it('runs them one at a time after that, and holds no other meanwhile', async () => {
    const t = await crashed(2, 5);
    const worker = t.start({ prefetch: 5 });
    for (let left = 5; left > 0; left--) {
      await settle();
      expect(worker.running()).toBe(1);
      expect(await t.stats()).toMatchObject({ leased: 1, ready: left - 1 });
      expect(t.running[0]!.ctx.attempt).toBe(3);
      t.running[0]!.finish();
    }
    expect((await worker.stop()).counts.acked).toBe(5);
  });

  it('runs a job alone in its last attempt', async () => {
    const t = await crashed(1, 3, { maxRetries: 1 });
    const worker = t.start();
    for (let left = 3; left > 0; left--) {
      await settle();
      expect(worker.running()).toBe(1);
      t.running[0]!.finish();
    }
    expect((await worker.stop()).counts.acked).toBe(3);
  });

  it('runs others again when one has failed, or has run for the length of a lease', async () => {
    const t = await crashed(2, 3);
    const worker = t.start();
    await settle();
    t.running[0]!.fail(new Error('no'));
    await settle();
    expect(worker.running()).toBe(1);
    await t.pass(29 * second, second);
    expect(await t.stats()).toMatchObject({ leased: 1 });
    await t.pass(2 * second, second); // the third waits until the second has ended, but not for longer than a lease
    expect(await t.stats()).toMatchObject({ leased: 2 });
    await t.pass(30 * second, second);
    expect(worker.running()).toBe(2);
    for (const one of [...t.running]) one.finish();
    await worker.stop();
  });

  it('lets those that run end first, but does not wait for longer than a lease', async () => {
    const t = await crashed(2, 1);
    await t.vanish(5 * second);
    const worker = t.start();
    await settle();
    await t.enqueue(1);
    await settle();
    const [other] = t.running;
    await t.pass(10 * second, second);
    expect(t.running).toEqual([other]);
    await t.enqueue(1);
    await settle();
    expect(t.running).toEqual([other]);
    await t.pass(35 * second, second);
    expect(worker.running()).toBe(2);
    other!.finish();
    await settle();
    expect(worker.running()).toBe(1);
    t.running[0]!.finish();
    await settle();
    expect(worker.running()).toBe(1);
    t.running[0]!.finish();
    expect((await worker.stop()).counts.acked).toBe(3);
  });

  it('goes on when the lease of the job is lost before it begins', async () => {
    const t = await crashed(2, 1);
    await t.vanish(5 * second);
    const worker = t.start();
    await t.enqueue(1);
    await settle();
    await t.pass(8 * second, second);
    expect(worker.running()).toBe(1);
    await t.pass(second, second);
    const renew = t.backend.renew;
    Object.assign(t.backend, { renew: async (leases: readonly unknown[]) => leases.map(() => false) });
    await t.pass(11 * second, second);
    Object.assign(t.backend, { renew });
    await t.pass(40 * second, second);
    expect(worker.running()).toBeGreaterThan(0);
    for (const one of [...t.running]) one.finish();
    await settle();
    for (const one of [...t.running]) one.finish();
    await worker.stop();
    expect((await t.stats()).leased).toBe(0);
  });
});
