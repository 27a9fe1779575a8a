import { describe, expect, it } from 'vitest';
import type { MetricStore } from '../../../core/contract/derived/metrics.ts';
import { createBench, settle } from '../worker/kit.ts';

/** The store of the bench's queue, which fails or stands still as the test says. */
function faulty(real: MetricStore) {
  let fault: (() => Promise<void>) | null = null;
  let writes = 0;
  const store: MetricStore = {
    ...real,
    async write(rows) {
      writes++;
      await fault?.();
      await real.write(rows);
    },
  };
  return {
    store,
    writes: () => writes,
    set: (next: (() => Promise<void>) | null) => {
      fault = next;
    },
  };
}

function benchWith() {
  const bench = createBench();
  const metrics = faulty(bench.backend.stores!.metrics!);
  const start = () => bench.start({ store: { metrics: metrics.store } });
  const rows = () =>
    bench.backend.stores!.metrics!.read({ step: 'minute', from: 0, to: Number.MAX_SAFE_INTEGER });
  return { ...bench, metrics, start, rows };
}

describe('the numbers of a worker', () => {
  it('are written every ten seconds, in one write however many jobs there were', async () => {
    const bench = benchWith();
    const worker = bench.start();
    await bench.enqueue(500, 'quick');
    await settle(100);
    expect(await bench.rows()).toEqual([]);
    await bench.pass(10_000);
    expect(bench.metrics.writes()).toBe(1);
    const { all, jobs } = await bench.client.metrics();
    expect(all.done).toBe(500);
    expect(jobs).toMatchObject([{ job: 'quick', queue: 'default', done: 500, successRate: 1 }]);
    await bench.pass(60_000, 1000);
    expect(bench.metrics.writes(), 'nothing ran, so nothing was written').toBe(1);
    await worker.stop();
  });

  it('tell how long jobs waited and ran', async () => {
    const bench = benchWith();
    await bench.enqueue(1);
    await bench.pass(2_000);
    const worker = bench.start();
    await settle();
    await bench.pass(300);
    bench.running[0]!.finish();
    await settle();
    await worker.stop();
    const { all } = await bench.client.metrics();
    expect(all.waitMs).toMatchObject({ average: 2_000, max: 2_000 });
    expect(all.runMs).toMatchObject({ average: 300, max: 300 });
  });

  it('are complete when it has stopped', async () => {
    const bench = benchWith();
    const worker = bench.start();
    await bench.enqueue(7, 'quick');
    await settle();
    await worker.stop();
    expect((await bench.client.metrics()).all.done).toBe(7);
  });

  it('of two workers add up, and a minute that goes on is written over', async () => {
    const bench = benchWith();
    const workers = [bench.start(), bench.start()];
    for (let i = 0; i < 3; i++) {
      await bench.enqueue(40, 'quick');
      await settle();
      await bench.pass(10_000);
    }
    expect((await bench.client.metrics()).all.done).toBe(120);
    for (const worker of workers) await worker.stop();
    expect((await bench.client.metrics()).all.done).toBe(120);
  });

  it('lose nothing when the clock is set back', async () => {
    const bench = benchWith();
    const worker = bench.start();
    for (const ms of [60_000, -70_000]) {
      await bench.enqueue(5, 'quick');
      await settle();
      await bench.pass(10_000);
      bench.clock.advance(ms);
    }
    // In the minute before the one that was counted last.
    await bench.enqueue(5, 'quick');
    await settle();
    await worker.stop();
    bench.clock.advance(60_000);
    expect((await bench.client.metrics()).all.done).toBe(15);
  });

  it('wait for a store that is away, which is told once', async () => {
    const bench = benchWith();
    bench.metrics.set(() => Promise.reject(new Error('away')));
    const worker = bench.start();
    for (let i = 0; i < 4; i++) {
      await bench.enqueue(5, 'quick');
      await bench.pass(30_000, 1_000);
    }
    const told = bench.eventsOf('store.failed');
    expect(told).toMatchObject([{ during: 'writing numbers', error: { code: 'BACKEND' } }]);
    bench.metrics.set(null);
    await bench.pass(10_000);
    const { all, series } = await bench.client.metrics();
    expect(all.done).toBe(20);
    expect(series.filter(({ done }) => done > 0).length, 'each in its own minute').toBe(2);
    await worker.stop();
  });

  it('hold up neither jobs nor a stop when the store never answers', async () => {
    const bench = benchWith();
    bench.metrics.set(() => new Promise(() => {}));
    const worker = bench.start();
    for (let i = 0; i < 3; i++) {
      await bench.enqueue(10, 'quick');
      await bench.pass(15_000, 1_000);
    }
    expect(bench.eventsOf('job.settled').filter(({ outcome }) => outcome === 'acked').length).toBe(30);
    const stopping = worker.stop();
    await bench.pass(13_000, 500);
    expect((await stopping).counts.acked).toBe(30);
  });

  it('of a write that is never answered are told of, and written again', async () => {
    const bench = benchWith();
    bench.metrics.set(() => new Promise(() => {}));
    const worker = bench.start();
    await bench.enqueue(3, 'quick');
    await settle();
    await bench.pass(10_000);
    await bench.pass(29_999, 1_000);
    expect(bench.eventsOf('store.failed')).toEqual([]);
    bench.metrics.set(null);
    await bench.pass(1);
    expect(bench.eventsOf('store.failed')).toMatchObject([
      { during: 'writing numbers', error: { message: expect.stringContaining('no answer for 30000 ms') } },
    ]);
    await bench.pass(10_000);
    expect((await bench.client.metrics()).all.done).toBe(3);
    await worker.stop();
  });

  it('are complete when it stops while a write is under way', async () => {
    const bench = benchWith();
    let answer = () => {};
    const slow = () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      });
    bench.metrics.set(slow);
    const worker = bench.start();
    await bench.enqueue(3, 'quick');
    await settle();
    await bench.pass(10_000);
    bench.metrics.set(null);
    await bench.enqueue(4, 'quick');
    await settle();
    const stopping = worker.stop();
    await settle();
    answer();
    await stopping;
    expect((await bench.client.metrics()).all.done).toBe(7);
  });

  it('are bounded when the store stays away, and the newest are kept', async () => {
    const bench = benchWith();
    bench.metrics.set(() => Promise.reject(new Error('away')));
    const worker = bench.start();
    await bench.enqueue(1, 'quick');
    await bench.pass(10_000);
    // A row per minute: more than half of 6,000 would be four days; one job and queue never gets near.
    for (let i = 0; i < 30; i++) {
      await bench.enqueue(1, 'quick');
      await bench.pass(60_000);
    }
    bench.metrics.set(null);
    await bench.pass(10_000);
    expect((await bench.rows()).length).toBe(31);
    await worker.stop();
  });
});

describe('a client', () => {
  it('refuses a period that there is not', async () => {
    const bench = createBench();
    await expect(bench.client.metrics({ last: 'week' as 'day' })).rejects.toThrow(
      /CONFIG|last hour, day or month, got "week"/,
    );
  });
});
