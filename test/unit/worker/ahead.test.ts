/** Jobs that a worker holds ahead of its slots, in virtual time: handlers take as long as their payload says, and fetches take 2 ms. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { sleep } from '../../../core/base/clock.ts';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  keyRing,
  startWorker,
  type Worker,
  type WorkerOptions,
} from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { createBench, distant, settle } from './kit.ts';

const fetchMs = 2;

function createQueue({ timeoutMs = 12 * 3_600_000 } = {}) {
  const virtual = createVirtualClock();
  let blockedMs = 0;
  const clock = {
    ...virtual,
    now: () => virtual.now() + blockedMs,
    steadyNow: () => virtual.steadyNow!() + blockedMs,
  };
  const backend = memory({ clock });
  const begun: { readonly n: number; readonly by: string; readonly attempt: number }[] = [];
  /** When leases were given out, by their body. */
  const leasedAt = new Map<string, number>();
  let longestWaitMs = 0;
  const seen: Contract.QueueBackend = {
    ...backend,
    async fetch(request) {
      const leases = await backend.fetch(request);
      for (const { body } of leases) leasedAt.set(idOf(body), clock.steadyNow());
      return leases;
    },
    async nack(lease, how) {
      waited(idOf(lease.body));
      return backend.nack(lease, how);
    },
  };
  const idOf = (body: string): string => (JSON.parse(body) as { identifier: string }).identifier;
  function waited(id: string): void {
    const at = leasedAt.get(id);
    if (at !== undefined) longestWaitMs = Math.max(longestWaitMs, clock.steadyNow() - at);
    leasedAt.delete(id);
  }
  /** @param speed how many times as fast its handlers are */
  const appOf = (by: string, speed: number) => {
    const job = defineJob({
      name: 'timed',
      payload: z.object({ n: z.number(), ms: z.number(), blocks: z.boolean().optional() }),
      timeoutMs,
      handle({ n, ms, blocks }, ctx) {
        waited(ctx.id);
        begun.push({ n, by, attempt: ctx.attempt });
        if (blocks) blockedMs += ms;
        return blocks ? undefined : sleep(clock, ms / speed);
      },
    });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    return { job, app: createApp({ jobs: [job], clock, random: () => 0.5, signing }) };
  };
  const { job, app } = appOf('sender', 1);
  const client = connect(app, backend);
  return {
    backend,
    clock: virtual,
    client,
    begun,
    longestWaitMs: () => longestWaitMs,
    async enqueue(
      count: number,
      ms: number,
      more: { priority?: number; blocks?: boolean; from?: number } = {},
    ) {
      const { from = 0, blocks, ...options } = more;
      const payloads = Array.from({ length: count }, (_, i) => ({
        n: from + i,
        ms,
        ...(blocks && { blocks }),
      }));
      return (await client.enqueueMany(job, payloads, options)).map(({ id }) => id);
    },
    start: (by: string, options: Partial<WorkerOptions> = {}, speed = 1) =>
      startWorker(appOf(by, speed).app, { backend: distant(seen, virtual, fetchMs), ...options }),
    async pass(ms: number, stepMs = 1) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        virtual.advance(stepMs);
        await settle(12);
      }
    },
    /** Time passes until they have stopped. */
    async stop(...workers: Worker[]) {
      const stopping = Promise.all(workers.map((worker) => worker.stop()));
      let isOver = false;
      void stopping.then(() => {
        isOver = true;
      });
      while (!isOver) {
        virtual.advance(fetchMs);
        await settle(12);
      }
      return stopping;
    },
    leased: async () => (await backend.admin!.stats('default'))[0]?.leased ?? 0,
  };
}

describe('jobs held ahead of the slots', () => {
  it('are none at first, and as many as four fetches take away once attempts and fetches are measured', async () => {
    const t = createQueue();
    await t.enqueue(2_000, 4);
    const worker = t.start('a', { concurrency: 4 });
    await t.pass(1);
    expect(await t.leased()).toBe(4);
    await t.pass(200);
    // 4 slots / 4 ms × 4 × 2 ms = 8
    const held = (await t.leased()) - worker.running();
    expect(held).toBeGreaterThan(2);
    expect(held).toBeLessThanOrEqual(8);
    // Without jobs ahead a slot would stand still for a fetch after each job.
    const before = t.begun.length;
    await t.pass(100);
    expect(t.begun.length - before).toBeGreaterThanOrEqual(90);
    const [summary] = await t.stop(worker);
    expect(summary!.released).toBeGreaterThan(0);
    expect(await t.leased()).toBe(0);
  });

  it.each([
    [0, 0],
    [3, 3],
  ])('are at most prefetch: %i', async (prefetch, most) => {
    const t = createQueue();
    await t.enqueue(500, 1);
    const worker = t.start('a', { concurrency: 4, prefetch });
    let peak = 0;
    for (let i = 0; i < 60; i++) {
      await t.pass(1);
      peak = Math.max(peak, await t.leased());
    }
    expect(peak).toBeLessThanOrEqual(8 + most); // 4 run, 4 are being settled
    await t.stop(worker);
  });

  it('wait in no buffer for longer than 100 ms when a slow job comes between, and run once', async () => {
    const t = createQueue();
    const ids: string[] = [];
    for (let round = 0; round < 3; round++)
      ids.push(...(await t.enqueue(300, 1)), ...(await t.enqueue(1, 10_000)));
    ids.push(...(await t.enqueue(300, 1)));
    const worker = t.start('a', { concurrency: 2 });
    await t.pass(800);
    await t.pass(80_000, 50);
    expect(t.longestWaitMs()).toBeGreaterThan(0);
    expect(t.longestWaitMs()).toBeLessThanOrEqual(100 + fetchMs + 50);
    for (const id of ids) {
      const status = await t.client.status(id);
      expect(status).toMatchObject({ status: 'completed', attempts: [{ attempt: 1, outcome: 'acked' }] });
      expect(status!.attempts).toHaveLength(1);
    }
    await t.stop(worker);
  });

  it('are given back when all slots are stuck, and another worker runs them', async () => {
    const t = createQueue();
    await t.enqueue(40, 1);
    await t.enqueue(1, 36_000_000);
    await t.enqueue(200, 1, { from: 100 });
    const a = t.start('a', { concurrency: 1 });
    await t.pass(200);
    expect(await t.leased()).toBe(1); // the job of ten hours runs, and nothing waits behind it
    const left = t.begun.length;
    const b = t.start('b', { concurrency: 1 });
    await t.pass(1_000);
    expect(t.begun.slice(left).every(({ by }) => by === 'b')).toBe(true);
    expect(t.begun).toHaveLength(241);
    expect(new Set(t.begun.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    await t.stop(a, b);
  });

  it('are shared by workers as their speeds are, by a late one too', async () => {
    const t = createQueue();
    await t.enqueue(4_000, 8);
    const slow = t.start('slow', { concurrency: 6 });
    const fast = t.start('fast', { concurrency: 6 }, 2);
    await t.pass(100);
    const countOf = (who: string) => t.begun.filter(({ by }) => by === who).length;
    const late = t.start('late', { concurrency: 6 }, 2);
    await t.pass(50);
    const before = ['slow', 'fast', 'late'].map(countOf);
    await t.pass(400);
    const [slowRan, fastRan, lateRan] = ['slow', 'fast', 'late'].map((who, i) => countOf(who) - before[i]!);
    expect(fastRan! / slowRan!).toBeGreaterThan(1.8);
    expect(fastRan! / slowRan!).toBeLessThan(2.2);
    expect(lateRan! / fastRan!).toBeGreaterThan(0.9);
    expect(lateRan! / fastRan!).toBeLessThan(1.1);
    await t.stop(slow, fast, late);
  });

  it('are few if handlers keep the process busy, whatever the slots, and more again when they do not', async () => {
    const t = createQueue();
    await t.enqueue(3_000, 5, { blocks: true });
    const worker = t.start('a', { concurrency: 50 });
    const ahead: number[] = [];
    while (t.begun.length < 2_900) {
      await t.pass(1);
      ahead.push((await t.leased()) - 50);
    }
    // One thread ends 0.2 jobs per ms, and a job may be planned to wait for 50 ms: 10 jobs. The acks of a turn are not confirmed yet.
    expect(Math.max(...ahead.slice(ahead.length / 2))).toBeLessThanOrEqual(10 + 2 * 64);
    await t.pass(100);
    await t.enqueue(3_000, 1);
    await t.pass(20);
    expect(await t.leased()).toBeGreaterThan(150);
    await t.stop(worker);
  });

  it('begin by priority, then in the order of the queue', async () => {
    const t = createQueue();
    await t.enqueue(400, 4, { from: 1_000 });
    const worker = t.start('a', { concurrency: 2 });
    await t.pass(100);
    await t.enqueue(3, 4, { priority: 0 });
    const before = t.begun.length;
    await t.pass(30);
    const order = t.begun.slice(before).map(({ n }) => n);
    const urgent = order.map((n, i) => (n < 1_000 ? i : -1)).filter((i) => i >= 0);
    expect(order.filter((n) => n < 1_000)).toEqual([0, 1, 2]);
    expect(urgent.at(-1)).toBeLessThanOrEqual(8);
    const others = t.begun.map(({ n }) => n).filter((n) => n >= 1_000);
    expect(others).toEqual([...others].sort((a, b) => a - b));
    await t.stop(worker);
  });

  it('do not begin when their leases have ended while a handler blocked the process', async () => {
    const t = createQueue();
    await t.enqueue(40, 1);
    await t.enqueue(1, 60_000, { blocks: true });
    const ids = await t.enqueue(100, 1, { from: 100 });
    const worker = t.start('a', { concurrency: 1, leaseMs: 5_000 });
    await t.pass(10_000, 5);
    for (const id of ids) expect((await t.client.status(id))?.status).toBe('completed');
    const runs = t.begun.filter(({ n }) => n >= 100);
    expect(runs).toHaveLength(100);
    await t.stop(worker);
  });

  it('survive a clock that is set by an hour', async () => {
    const t = createQueue();
    const ids = await t.enqueue(300, 1);
    const worker = t.start('a', { concurrency: 2 });
    await t.pass(40);
    t.clock.set(3_600_000);
    await t.pass(40);
    t.clock.set(-3_600_000);
    await t.pass(300);
    t.clock.set(0);
    await t.pass(300);
    for (const id of ids) expect((await t.client.status(id))?.attempts).toHaveLength(1);
    await t.stop(worker);
  });

  it.each([
    [30_000, 0],
    [60_000, 20],
  ])(
    'are none when a lease of %i ms that is not renewed would be too short for its job',
    async (leaseMs, most) => {
      const t = createQueue({ timeoutMs: 29_999 });
      await t.enqueue(500, 1);
      const worker = t.start('a', { concurrency: 1, renew: false, leaseMs });
      let peak = 0;
      for (let i = 0; i < 40; i++) {
        await t.pass(1);
        peak = Math.max(peak, (await t.leased()) - 2);
      }
      expect(peak > 0).toBe(most > 0);
      await t.stop(worker);
    },
  );

  it('have a bound', () => {
    const t = createBench();
    expect(() => t.start({ prefetch: 10_001 })).toThrow(
      'Expected prefetch of startWorker() to be at most 10000, got 10001. Leave it out',
    );
    expect(() => t.start({ prefetch: -1 })).toThrow(
      'prefetch of startWorker() to be an integer of 0 or more',
    );
  });
});
