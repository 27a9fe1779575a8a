import { describe, expect, it } from 'vitest';
import type { MetricStore } from '../../../core/contract/derived/metrics.ts';
import { rollUp } from '../../../core/features/metrics/roll-up.ts';
import { type Counted, count, newTally, packTally } from '../../../core/features/metrics/tally.ts';
import { connect, createApp, keyRing } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

function createBench() {
  const clock = createVirtualClock();
  let ids = 0;
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: [], clock, signing, newId: () => `id-${++ids}` });
  const backend = memory({ clock });
  const client = connect(app, backend);
  const store = client.stores.metrics!;
  return {
    clock,
    app,
    client,
    store,
    rollUp: (metrics: MetricStore = store) => rollUp(app, { ...client.stores, metrics }),
    rowsOf: (step: 'minute' | 'hour' | 'day') => store.read({ step, from: 0, to: Number.MAX_SAFE_INTEGER }),
    /** What a worker has counted in this minute. */
    ran: async (job: string, times: number, how: Partial<Counted> = {}, source = 'w-1') => {
      const tally = newTally();
      const result = {
        job,
        outcome: 'acked',
        settled: true,
        counted: true,
        reason: null,
        durationMs: 50,
        waitMs: 5,
        memoryBytes: null,
      } as const;
      for (let i = 0; i < times; i++) count(tally, { ...result, ...how }, clock.now());
      const at = clock.now() - (clock.now() % minuteMs);
      await store.write([{ step: 'minute', at, queue: 'default', job, source, body: packTally(tally) }]);
    },
  };
}

describe('a roll-up', () => {
  it('makes hours and days that hold what the minutes held', async () => {
    const bench = createBench();
    for (let i = 0; i < 50; i++) {
      await bench.ran('mail', 2);
      await bench.ran('mail', 1, {}, 'w-2');
      await bench.ran('pdf', 1, { outcome: 'requeued' });
      bench.clock.advance(hourMs);
      await bench.rollUp();
    }
    const { series, all, jobs } = await bench.client.metrics({ last: 'day' });
    expect(series.length).toBe(24);
    expect(series.slice(0, -1).every(({ done, retried }) => done === 3 && retried === 1)).toBe(true);
    expect(all).toMatchObject({ done: 69, retried: 23 });
    expect(jobs.map(({ job }) => job)).toEqual(['mail', 'pdf']);
    expect((await bench.client.metrics({ last: 'month' })).all).toMatchObject({ done: 150, retried: 50 });
    const days = await bench.rowsOf('day');
    expect(days.every(({ source }) => source === '')).toBe(true);
    expect(days.length).toBeGreaterThan(0);
  });

  it('loses nothing of a weekend without a worker', async () => {
    const bench = createBench();
    await bench.ran('mail', 4);
    bench.clock.advance(2 * dayMs);
    expect((await bench.client.metrics({ last: 'month' })).all.done, 'before').toBe(4);
    await bench.rollUp();
    await bench.rollUp();
    expect((await bench.client.metrics({ last: 'month' })).all.done, 'after').toBe(4);
    expect(await bench.rowsOf('minute'), 'its hour has it').toEqual([]);
  });

  it('that dies half-way is done again, and counts nothing twice', async () => {
    const bench = createBench();
    for (let i = 0; i < 5; i++) {
      await bench.ran('mail', 2);
      bench.clock.advance(hourMs);
    }
    let left = 2;
    const dying: MetricStore = {
      ...bench.store,
      async write(rows) {
        if (left-- === 0) throw new Error('gone');
        await bench.store.write(rows);
      },
    };
    await expect(bench.rollUp(dying)).rejects.toThrow('gone');
    expect((await bench.client.metrics({ last: 'day' })).all.done).toBe(10);
    await bench.rollUp();
    expect((await bench.client.metrics({ last: 'day' })).all.done).toBe(10);
  });

  /** Reads for so long. */
  const slowly = (
    bench: ReturnType<typeof createBench>,
    ms: number,
    read: (at: number) => void = () => {},
  ) => ({
    ...bench.store,
    read: (filter: Parameters<MetricStore['read']>[0]) => {
      if (filter.step === 'minute') {
        bench.clock.advance(ms);
        read(filter.from);
      }
      return bench.store.read(filter);
    },
  });

  it('that takes long notes what it has done, and the next one goes on', async () => {
    const bench = createBench();
    for (let i = 0; i < 40; i++) {
      await bench.ran('mail', 1);
      bench.clock.advance(hourMs);
    }
    const read: number[] = [];
    for (let i = 0; i < 12; i++) {
      const startedAt = bench.clock.now();
      await bench.rollUp(slowly(bench, 7_000, (at) => read.push(at)));
      expect(bench.clock.now() - startedAt, 'within its hold').toBeLessThan(60_000);
    }
    expect(read.length).toBeGreaterThan(12);
    expect(new Set(read).size, 'no hour twice').toBe(read.length);
    await bench.rollUp();
    expect((await bench.client.metrics({ last: 'month' })).all.done).toBe(40);
  });

  it('that took longer than its hold removes no minutes: it will be done again', async () => {
    const bench = createBench();
    for (let i = 0; i < 5; i++) {
      await bench.ran('mail', 1);
      bench.clock.advance(hourMs);
    }
    await bench.rollUp(slowly(bench, 61_000));
    expect(await bench.rowsOf('minute')).toHaveLength(5);
    bench.clock.advance(30 * minuteMs);
    await bench.rollUp();
    expect((await bench.client.metrics({ last: 'day' })).all.done).toBe(5);
  });

  it('is done by one host at a time', async () => {
    const bench = createBench();
    await bench.ran('mail', 1);
    bench.clock.advance(3 * hourMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    let writes = 0;
    const slow: MetricStore = {
      ...bench.store,
      async write(rows) {
        writes++;
        await promise;
        await bench.store.write(rows);
      },
    };
    const hosts = [bench.rollUp(slow), bench.rollUp(slow)];
    resolve();
    await Promise.all(hosts);
    expect(writes).toBe(1);
  });

  it('leaves the minutes of an hour that a worker may still write', async () => {
    const bench = createBench(); // it is twelve o'clock
    bench.clock.advance(59 * minuteMs);
    await bench.ran('mail', 1);
    bench.clock.advance(2 * minuteMs);
    await bench.rollUp();
    expect(await bench.rowsOf('hour')).toEqual([]);
    bench.clock.advance(2 * minuteMs);
    await bench.rollUp();
    expect((await bench.rowsOf('hour')).length).toBe(1);
  });

  it('keeps months of days, and a few hours of minutes', async () => {
    const bench = createBench();
    for (let i = 0; i < 60; i++) {
      await bench.ran('mail', 1);
      bench.clock.advance(dayMs);
      await bench.rollUp();
      await bench.rollUp();
    }
    expect((await bench.rowsOf('day')).length).toBeGreaterThanOrEqual(58);
    expect((await bench.rowsOf('hour')).length).toBeLessThanOrEqual(40);
    expect((await bench.rowsOf('minute')).length).toBeLessThanOrEqual(1);
  });

  it('skips a text that it cannot read', async () => {
    const bench = createBench();
    await bench.ran('mail', 3);
    const at = bench.clock.now() - (bench.clock.now() % minuteMs);
    await bench.store.write([
      { step: 'minute', at, queue: 'default', job: 'mail', source: 'newer', body: '{"v":9}' },
    ]);
    bench.clock.advance(3 * hourMs);
    await bench.rollUp();
    expect((await bench.client.metrics({ last: 'day' })).all.done).toBe(3);
  });
});

describe('a report', () => {
  it('flags a job that is worse than in its own last 30 days', async () => {
    const bench = createBench();
    for (let i = 0; i < 5; i++) {
      await bench.ran('mail', 20);
      bench.clock.advance(dayMs);
      await bench.rollUp();
    }
    await bench.ran('mail', 30, { durationMs: 500 });
    const { jobs } = await bench.client.metrics({ last: 'hour' });
    expect(jobs[0]!.flags).toMatchObject([{ kind: 'slower', past: expect.closeTo(50, -1) }]);
    expect((await bench.client.metrics({ flag: { slowerTimes: 20 } })).jobs[0]!.flags).toEqual([]);
  });

  it('of one job leaves the others out', async () => {
    const bench = createBench();
    await bench.ran('mail', 3);
    await bench.ran('pdf', 2);
    expect((await bench.client.metrics({ job: 'pdf' })).all.done).toBe(2);
    expect((await bench.client.metrics({ queue: 'elsewhere' })).all.done).toBe(0);
  });

  it('has each step of its period, also those in which nothing ran', async () => {
    const { client, clock } = createBench();
    const { series, from, to, step } = await client.metrics();
    expect({ step, length: series.length, to }).toEqual({ step: 'minute', length: 60, to: clock.now() });
    expect(series[0]).toMatchObject({ at: from, done: 0, successRate: null, runMs: null });
  });
});
