/** What becomes of jobs, as counters and histograms. */

import { describe, expect, it } from 'vitest';
import { newTally, packTally, type Tally } from '../../../core/features/metrics/tally.ts';
import { fixed, PermanentError, RetryAfterError, SnoozeError } from '../../../core/index.ts';
import { stepOf } from '../../../core/kit/records/metric-steps.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { envelope, job } from '../core/kit.ts';
import { counted, meteredBench, named } from './kit.ts';

const work = job();
const failing = (error: () => unknown, name = 'work') =>
  job({
    name,
    maxRetries: 1,
    retry: fixed(1_000),
    handle: () => {
      throw error();
    },
  });

describe('counters', () => {
  it('count each attempt by its outcome, failures, and dead letters by their reason', async () => {
    const good = job({ name: 'good' });
    const flaky = failing(() => new Error('down'), 'flaky');
    const wrong = failing(() => new PermanentError('no such order'), 'wrong');
    const b = meteredBench({ jobs: [good, flaky, wrong] });
    await b.once(good);
    await b.once(wrong);
    await b.once(flaky);
    b.clock.advance(1_000);
    await b.next();
    const values = await b.scrape();
    expect(counted(values, 'queue_jobs_processed_total')).toEqual({
      'queue_jobs_processed_total{queue="default",job="good",outcome="acked"}': 1,
      'queue_jobs_processed_total{queue="default",job="wrong",outcome="dead-lettered"}': 1,
      'queue_jobs_processed_total{queue="default",job="flaky",outcome="requeued"}': 1,
      'queue_jobs_processed_total{queue="default",job="flaky",outcome="dead-lettered"}': 1,
    });
    expect(counted(values, 'queue_jobs_failed_total')).toEqual({
      'queue_jobs_failed_total{queue="default",job="wrong"}': 1,
      'queue_jobs_failed_total{queue="default",job="flaky"}': 2,
    });
    expect(counted(values, 'queue_jobs_dead_lettered_total')).toEqual({
      'queue_jobs_dead_lettered_total{queue="default",job="wrong",reason="permanent"}': 1,
      'queue_jobs_dead_lettered_total{queue="default",job="flaky",reason="exhausted"}': 1,
    });
    expect(named(values, 'queue_failed_jobs_hourly')).toEqual({
      'queue_failed_jobs_hourly{queue="default"}': 3,
    });
  });

  it('begin at 0 for the jobs of the app, so that the first failure is seen', async () => {
    const values = await meteredBench({ jobs: [work] }).scrape();
    expect(values).toMatchObject({
      'queue_jobs_failed_total{queue="default",job="work"}': 0,
      'queue_jobs_dead_lettered_total{queue="default",job="work",reason="expired"}': 0,
      'queue_jobs_processed_total{queue="default",job="work",outcome="acked"}': 0,
    });
  });

  it('count a forged message as unknown, whatever it calls itself, and a cancelled job as no dead letter', async () => {
    const b = meteredBench({ jobs: [work] });
    await b.put(envelope({ job: 'x"} 1\nevil' }).replace(/.{4}"}$/, 'beef"}'));
    await b.next();
    const { id } = await b.client.enqueue(work, {});
    await b.client.cancel(id);
    const values = await b.scrape();
    expect(counted(values, 'queue_jobs_processed_total')).toEqual({
      'queue_jobs_processed_total{queue="default",job="unknown",outcome="rejected"}': 1,
    });
    expect(named(values, 'queue_job_duration_seconds_count')).toEqual({});
  });

  it('count no failure and no run of a job that snoozes', async () => {
    const later = failing(() => new SnoozeError(1_000));
    const b = meteredBench({ jobs: [later] });
    await b.once(later);
    const values = await b.scrape();
    for (const name of ['processed', 'failed', 'dead_lettered'])
      expect(counted(values, `queue_jobs_${name}_total`)).toEqual({});
  });

  it('count what changed nothing apart: a lost lease, and a job that was released', async () => {
    let lost = false;
    const b = meteredBench({
      jobs: [work],
      settler: (backend) => ({
        ...backend,
        ack: async (acks) => (lost ? acks.map(() => false) : backend.ack(acks)),
      }),
    });
    lost = true;
    await b.once(work);
    const values = await b.scrape();
    expect(named(values, 'queue_leases_lost_total')).toEqual({
      'queue_leases_lost_total{queue="default",job="work"}': 1,
    });
    expect(counted(values, 'queue_jobs_processed_total')).toEqual({});
  });

  it('count a job that asks for another time as one that failed and runs again', async () => {
    const later = failing(() => new RetryAfterError(5_000));
    const b = meteredBench({ jobs: [later] });
    await b.once(later);
    const values = await b.scrape();
    expect(values['queue_jobs_processed_total{queue="default",job="work",outcome="requeued"}']).toBe(1);
    expect(values['queue_jobs_failed_total{queue="default",job="work"}']).toBe(1);
  });

  it('have the tenant where that is wanted', async () => {
    const b = meteredBench({ jobs: [work] }, { maxTenants: 2 });
    for (const tenantId of ['a', 'b"\n', 'c', 'd', 'a']) await b.once(work, {}, { context: { tenantId } });
    await b.once(work);
    expect(counted(await b.scrape(), 'queue_jobs_processed_total')).toEqual({
      'queue_jobs_processed_total{queue="default",job="work",tenant="a",outcome="acked"}': 2,
      'queue_jobs_processed_total{queue="default",job="work",tenant="b\\"\\n",outcome="acked"}': 1,
      'queue_jobs_processed_total{queue="default",job="work",tenant="other",outcome="acked"}': 2,
      'queue_jobs_processed_total{queue="default",job="work",tenant="",outcome="acked"}': 1,
    });
  });
});

describe('histograms', () => {
  it('have how long attempts took and how long jobs waited, in seconds', async () => {
    const slow = job({ handle: () => void b.clock.advance(400) });
    const b = meteredBench({ jobs: [slow] }, { durationBuckets: [0.1, 0.5, 1], waitBuckets: [1, 10] });
    await b.client.enqueue(slow, {});
    b.clock.advance(2_500);
    await b.next();
    const values = await b.scrape();
    const of = 'queue="default",job="work"';
    expect(named(values, 'queue_job_duration_seconds_bucket')).toEqual({
      [`queue_job_duration_seconds_bucket{le="0.1",${of}}`]: 0,
      [`queue_job_duration_seconds_bucket{le="0.5",${of}}`]: 1,
      [`queue_job_duration_seconds_bucket{le="1",${of}}`]: 1,
      [`queue_job_duration_seconds_bucket{le="+Inf",${of}}`]: 1,
    });
    expect(values[`queue_job_duration_seconds_sum{${of}}`]).toBe(0.4);
    expect(values[`queue_job_wait_seconds_sum{${of}}`]).toBe(2.5);
    expect(values[`queue_job_wait_seconds_bucket{le="1",${of}}`]).toBe(0);
  });
});

describe('the failures of the last hour', () => {
  it('leave it after an hour, minute by minute', async () => {
    const flaky = failing(() => new PermanentError('no'));
    const b = meteredBench({ jobs: [flaky] });
    const hourly = async () => (await b.scrape())['queue_failed_jobs_hourly{queue="default"}'];
    await b.once(flaky);
    b.clock.advance(30 * 60_000);
    await b.once(flaky);
    await b.once(flaky);
    expect(await hourly()).toBe(3);
    b.clock.advance(30 * 60_000);
    expect(await hourly()).toBe(2);
    b.clock.advance(90 * 60_000);
    expect(await hourly()).toBe(0);
    await b.once(flaky);
    expect(await hourly()).toBe(1);
  });

  it('are those of all workers where the store keeps numbers, and absent while it cannot be read', async () => {
    const store = memory().stores!.metrics!;
    const b = meteredBench({ jobs: [work], stores: { metrics: store } });
    const at = stepOf('minute', b.clock.now());
    const row = (source: string, at: number, parts: Partial<Tally>) => ({
      ...{ step: 'minute' as const, at, queue: 'mail', job: 'work', source },
      body: packTally({ ...newTally(), ...parts }),
    });
    await store.write([
      row('a', at, { retried: 2, dead: 1, done: 50 }),
      row('b', at - 59 * 60_000, { dead: 4, cancelled: 9 }),
      row('b', at - 60 * 60_000, { dead: 100 }),
    ]);
    const hourly = async () => named(await b.scrape(), 'queue_failed_jobs_hourly');
    expect(await hourly()).toEqual({ 'queue_failed_jobs_hourly{queue="mail"}': 7 });
    Object.assign(store, { read: async () => Promise.reject(new Error('down')) });
    b.clock.advance(10_000);
    expect(await hourly()).toEqual({});
  });
});

describe('what is enqueued', () => {
  it('is counted by queue, job and priority, once, and not when it was refused or there already', async () => {
    const fast = job({ name: 'fast', priority: 'high' });
    const b = meteredBench({ jobs: [fast] });
    await b.client.enqueueMany(fast, [{}, {}]);
    await b.client.enqueue(fast, {}, { priority: 9 });
    const unique = { key: 'k', during: 'waiting' } as const;
    for (let i = 0; i < 2; i++) await b.client.enqueue(fast, {}, { unique });
    await expect(b.client.enqueue(fast, {}, { queue: 'no' })).rejects.toThrow();
    expect(named(await b.scrape(), 'queue_jobs_enqueued_total')).toEqual({
      'queue_jobs_enqueued_total{queue="default",job="fast",priority="2"}': 3,
      'queue_jobs_enqueued_total{queue="default",job="fast",priority="9"}': 1,
    });
  });
});
