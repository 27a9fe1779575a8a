/** What the queue, its workers and the schedules say at the moment of a scrape, also when they say nothing. */

import { describe, expect, it } from 'vitest';
import type { QueueStats } from '../../../core/contract/admin.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { defineSchedule, PermanentError, tick } from '../../../core/index.ts';
import { job, until } from '../core/kit.ts';
import { meteredBench, named } from './kit.ts';

const row = (queue: string, parts: Partial<QueueStats> = {}): QueueStats => ({
  ...{ queue, ready: 0, delayed: 0, leased: 0, dead: 0, paused: false, oldestReadyMs: null },
  ...parts,
});

const work = job();

describe('the gauges of queues', () => {
  it('have what waits, what runs and what is dead', async () => {
    const wrong = job({
      queue: 'mail',
      handle: () => {
        throw new PermanentError('no');
      },
    });
    const b = meteredBench({ jobs: [wrong] });
    await b.once(wrong);
    for (const options of [{}, {}, {}, { delayMs: 60_000 }]) await b.client.enqueue(wrong, {}, options);
    b.clock.advance(7_500);
    await b.take();
    await b.backend.admin!.setPaused('mail', true);
    expect(await b.scrape()).toMatchObject({
      'queue_up{backend="memory"}': 1,
      'queue_depth{queue="mail",status="pending"}': 3,
      'queue_depth{queue="mail",status="ready"}': 2,
      'queue_depth{queue="mail",status="delayed"}': 1,
      'queue_depth{queue="mail",status="leased"}': 1,
      'queue_oldest_job_seconds{queue="mail"}': 7.5,
      'queue_dead_letters{queue="mail"}': 1,
      'queue_paused{queue="mail"}': 1,
    });
  });

  it('are 0 for the age of an empty queue, and absent where the backend does not tell it', async () => {
    const b = meteredBench({ jobs: [work] });
    const { admin } = b.backend;
    Object.assign(admin!, { stats: async () => [row('empty'), row('silent', { ready: 3 })] });
    expect(named(await b.scrape(), 'queue_oldest_job_seconds')).toEqual({
      'queue_oldest_job_seconds{queue="empty"}': 0,
    });
  });

  it('ask once for all scrapes of five seconds, and forget a queue that is gone', async () => {
    const b = meteredBench({ jobs: [work] });
    let asked = 0;
    let rows = [row('default', { ready: 1 }), row('old', { ready: 9 })];
    Object.assign(b.backend.admin!, {
      stats: async () => {
        asked++;
        return rows;
      },
    });
    await Promise.all([b.scrape(), b.scrape(), b.scrape()]);
    b.clock.advance(4_999);
    await b.scrape();
    expect(asked).toBe(1);
    rows = [row('default', { ready: 2 })];
    b.clock.advance(1);
    const depth = named(await b.scrape(), 'queue_depth');
    expect(asked).toBe(2);
    expect(Object.keys(depth).filter((key) => key.includes('old'))).toEqual([]);
    expect(depth['queue_depth{queue="default",status="ready"}']).toBe(2);
  });

  it('say that a backend is down that fails, and nothing that it said before', async () => {
    const b = meteredBench({ jobs: [work] });
    await b.client.enqueue(work, {});
    const { admin } = b.backend;
    const { stats } = admin!;
    expect(await b.scrape()).toMatchObject({ 'queue_up{backend="memory"}': 1 });
    Object.assign(admin!, {
      stats: () => {
        throw new Error('gone');
      },
    });
    b.clock.advance(5_000);
    const values = await b.scrape();
    expect(values).toMatchObject({ 'queue_up{backend="memory"}': 0 });
    expect(named(values, 'queue_depth')).toEqual({});
    Object.assign(admin!, { stats });
    b.clock.advance(5_000);
    expect(await b.scrape()).toMatchObject({
      'queue_up{backend="memory"}': 1,
      'queue_depth{queue="default",status="ready"}': 1,
    });
  });

  it('never hang: one scrape waits for a backend that does not answer, and one question is open', async () => {
    const b = meteredBench({ jobs: [work] });
    const answer = Promise.withResolvers<QueueStats[]>();
    let asked = 0;
    Object.assign(b.backend.admin!, {
      stats: () => {
        asked++;
        return answer.promise;
      },
    });
    const scrapes = [b.scrape(), b.scrape()];
    await until(() => asked > 0);
    await b.once(work); // jobs go on meanwhile
    b.clock.advance(2_000);
    for (const values of await Promise.all(scrapes)) expect(values['queue_up{backend="memory"}']).toBe(0);
    for (let i = 0; i < 5; i++) {
      b.clock.advance(10_000);
      const values = await b.scrape(); // at once: the clock stands still
      expect(values['queue_jobs_processed_total{queue="default",job="work",outcome="acked"}']).toBe(1);
    }
    expect(asked).toBe(1);
    b.clock.advance(10_000); // given up after a minute
    const again = b.scrape();
    await until(() => asked === 2);
    answer.resolve([row('default', { ready: 4 })]);
    expect(await again).toMatchObject({
      'queue_up{backend="memory"}': 1,
      'queue_depth{queue="default",status="ready"}': 4,
    });
  });

  it('add up the queues over the limit, and keep those of the app', async () => {
    const b = meteredBench({ jobs: [job({ queue: 'mine' })] }, { maxLabelSets: 2 });
    const others = Array.from({ length: 10_000 }, (_, i) => row(`q${i}`, { ready: 1, oldestReadyMs: i }));
    Object.assign(b.backend.admin!, { stats: async () => [...others, row('mine', { ready: 5 })] });
    const values = await b.scrape();
    expect(named(values, 'queue_depth')).toMatchObject({
      'queue_depth{queue="mine",status="ready"}': 5,
      'queue_depth{queue="q0",status="ready"}': 1,
      'queue_depth{queue="other",status="ready"}': 9_999,
    });
    expect(Object.keys(named(values, 'queue_depth'))).toHaveLength(12);
    expect(values['queue_oldest_job_seconds{queue="other"}']).toBe(9.999);
    expect((await b.scrape()).queue_metrics_overflow_total, 'its line was written already').toBe(1);
  });
});

describe('the gauges of workers', () => {
  it('tell who is alive, and how many serve each queue of the app', async () => {
    const b = meteredBench({ jobs: [job({ queue: 'mail' }), job({ name: 'pdf', queue: 'pdf' })] });
    const now = b.clock.now();
    const beat = (id: string, ageMs: number, queues: string[]): WorkerBeat => ({
      ...{ id, host: 'h', pid: 1, queues, concurrency: 1, startedAt: now, seenAt: now - ageMs, running: 0 },
      counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
      memoryBytes: 1,
    });
    const beats = [beat('a', 0, ['mail']), beat('b', 15_000, ['mail', 'x']), beat('c', 60_000, ['pdf'])];
    for (const one of [...beats, beat('d', 60_001, ['pdf'])]) await b.client.stores.workers.heartbeat(one);
    expect(await b.scrape()).toMatchObject({
      'workers{status="healthy"}': 2,
      'workers{status="unhealthy"}': 1,
      'workers{status="gone"}': 1,
      'queue_workers{queue="mail"}': 2,
      'queue_workers{queue="pdf"}': 0,
    });
  });

  it('are absent while the list cannot be read, and the queues are there all the same', async () => {
    const workers = {
      heartbeat: async () => {},
      list: async () => {
        throw new Error('no table');
      },
      remove: async () => {},
    };
    const b = meteredBench({ jobs: [work], stores: { workers } });
    await b.client.enqueue(work, {});
    const values = await b.scrape();
    expect(named(values, 'workers')).toEqual({});
    expect(values['queue_depth{queue="default",status="ready"}']).toBe(1);
  });
});

describe('the lag of schedules', () => {
  const minutely = defineSchedule({ name: 'minutely', everyMs: 60_000, job: work, payload: {} });
  const lagOf = async (b: ReturnType<typeof meteredBench>) =>
    named(await b.scrape(), 'queue_schedule_lag_seconds');
  const of = 'queue_schedule_lag_seconds{schedule="minutely"}';

  it('is absent where nobody ticks, 0 while all is enqueued, and grows from the first moment that is owed', async () => {
    const b = meteredBench({ jobs: [minutely.job], schedules: [minutely] });
    expect(await lagOf(b)).toEqual({});
    await tick(b.app, b.client);
    expect(await lagOf(b)).toEqual({ [of]: 0 });
    b.clock.advance(59_000);
    expect(await lagOf(b)).toEqual({ [of]: 0 });
    b.clock.advance(91_000);
    expect(await lagOf(b)).toEqual({ [of]: 90 });
    await tick(b.app, b.client);
    expect(await lagOf(b)).toEqual({ [of]: 0 });
  });

  it('grows while ticks fail, and while another host holds the schedule and does nothing', async () => {
    const b = meteredBench({ jobs: [minutely.job], schedules: [minutely] });
    await tick(b.app, b.client);
    const { keys } = b.client.stores;
    await keys.claim('schedule:minutely', 'another host', b.clock.now() + 86_400_000);
    b.clock.advance(120_000);
    await tick(b.app, b.client);
    expect(await lagOf(b)).toEqual({ [of]: 60 });
    const { claim } = keys;
    Object.assign(keys, { claim: async () => Promise.reject(new Error('down')) });
    b.clock.advance(60_000);
    await tick(b.app, b.client);
    expect(await lagOf(b)).toEqual({ [of]: 120 });
    Object.assign(keys, { claim });
  });

  it('begins at the first tick, also when that one fails', async () => {
    const b = meteredBench({ jobs: [minutely.job], schedules: [minutely] });
    Object.assign(b.client.stores.keys, { claim: async () => Promise.reject(new Error('down')) });
    await tick(b.app, b.client);
    b.clock.advance(180_000);
    expect(await lagOf(b)).toEqual({ [of]: 120 });
  });
});
