/** Too many names, names that are taken, and options that are none: told once, and no job is slower or lost. */

import { Counter, Registry, register } from 'prom-client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect, createApp } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type MetricsOptions, metrics } from '../../../local/prometheus/index.ts';
import { bench, job, refusalText, ring } from '../core/kit.ts';
import { counted, meteredBench, named } from './kit.ts';

describe('a flood of names', () => {
  it('of jobs ends in job="other" after 500, counted and told once, and every job has run', async () => {
    let runs = 0;
    const jobs = Array.from({ length: 10_000 }, (_, i) =>
      job({ name: `job-${i}`, handle: () => void runs++ }),
    );
    const b = meteredBench({ jobs });
    for (const one of jobs) await b.once(one);
    expect(runs).toBe(10_000);
    const values = await b.scrape();
    for (const name of ['queue_jobs_processed_total', 'queue_job_duration_seconds_count'])
      expect(Object.keys(named(values, name)), name).toHaveLength(501);
    expect(values['queue_jobs_processed_total{queue="default",job="job-499",outcome="acked"}']).toBe(1);
    expect(values['queue_jobs_processed_total{queue="default",job="other",outcome="acked"}']).toBe(9_500);
    expect(values.queue_metrics_overflow_total, 'when enqueued and when run').toBe(19_000);
    expect(b.eventsOf('backend.warning')).toEqual([
      {
        type: 'backend.warning',
        backend: 'prometheus',
        message: expect.stringMatching(
          /^There are more than 500 pairs of queue and job.* counted as "other"\./,
        ),
      },
    ]);
  });

  it('of tenants ends in tenant="other", also with texts that look like labels', async () => {
    const work = job();
    const b = meteredBench({ jobs: [work] }, { maxTenants: 100, maxLabelSets: 50 });
    for (let i = 0; i < 10_000; i++) await b.once(work, {}, { context: { tenantId: `t${i}",queue="x` } });
    const values = await b.scrape();
    const processed = counted(values, 'queue_jobs_processed_total');
    expect(Object.keys(processed)).toHaveLength(51);
    expect(
      processed['queue_jobs_processed_total{queue="default",job="other",tenant="other",outcome="acked"}'],
    ).toBe(9_950);
    expect(Object.values(processed).reduce((a, c) => a + c, 0)).toBe(10_000);
    expect(b.eventsOf('backend.warning')).toHaveLength(1);
  });

  it('of queues ends in queue="other"', async () => {
    const jobs = Array.from({ length: 30 }, (_, i) => job({ name: `j${i}`, queue: `q${i}` }));
    const b = meteredBench({ jobs }, { maxLabelSets: 10 });
    for (const one of jobs) await b.once(one);
    const processed = counted(await b.scrape(), 'queue_jobs_processed_total');
    // Ten by name, one for each of ten further queues, and one for the rest.
    expect(Object.keys(processed)).toHaveLength(21);
    expect(processed['queue_jobs_processed_total{queue="other",job="other",outcome="acked"}']).toBe(10);
  });
});

describe('the registry', () => {
  it("is one of its own: another app's metrics and the process's default registry are not touched", async () => {
    const work = job();
    const [one, two] = [meteredBench({ jobs: [work] }), meteredBench({ jobs: [work] })];
    await one.once(work);
    const of = 'queue_jobs_processed_total{queue="default",job="work",outcome="acked"}';
    expect((await one.scrape())[of]).toBe(1);
    expect((await two.scrape())[of]).toBe(0);
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it("may be the user's: a name that is taken is told once, theirs stays as it is, and all else is there", async () => {
    const registry = new Registry();
    const taken = { help: 'mine', registers: [registry] };
    const mine = new Counter({ ...taken, name: 'queue_jobs_failed_total' });
    new Counter({ ...taken, name: 'workers' });
    mine.inc(41);
    const work = job({
      handle: () => {
        throw new Error('down');
      },
    });
    const b = meteredBench({ jobs: [work] }, { registry });
    await b.once(work);
    const values = await b.scrape();
    expect(values.queue_jobs_failed_total).toBe(41);
    expect(values['queue_jobs_processed_total{queue="default",job="work",outcome="requeued"}']).toBe(1);
    expect(values['queue_failed_jobs_hourly{queue="default"}']).toBe(1);
    expect(b.eventsOf('backend.warning').map(({ message }) => message)).toEqual([
      "The registry already has metrics with these names, so Longshore's are left out: queue_jobs_failed_total, workers. Give metrics() a prefix or a registry of its own.",
    ]);
    b.metered.close();
    expect(
      registry
        .getMetricsAsArray()
        .map(({ name }: { name?: string }) => name)
        .toSorted(),
    ).toEqual(['queue_jobs_failed_total', 'workers']);
    await b.once(work);
  });

  it('takes the metrics of two apps with a prefix each', async () => {
    const registry = new Registry();
    const work = job();
    const first = meteredBench({ jobs: [work] }, { registry, prefix: 'a_' });
    const second = meteredBench({ jobs: [work] }, { registry, prefix: 'b_' });
    await second.once(work);
    const values = await first.scrape();
    expect(values['b_queue_jobs_processed_total{queue="default",job="work",outcome="acked"}']).toBe(1);
    expect(values).toMatchObject({ 'a_queue_up{backend="memory"}': 1, 'b_queue_up{backend="memory"}': 1 });
    expect([...first.eventsOf('backend.warning'), ...second.eventsOf('backend.warning')]).toEqual([]);
  });

  it('that clashes is told to the process where nobody listens to the app', () => {
    const registry = new Registry();
    new Counter({ name: 'queue_up', help: 'mine', registers: [registry] });
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const client = connect(createApp({ jobs: [], signing: ring }), memory());
    const metered = metrics(client, { registry });
    onTestFinished(() => metered.close());
    expect(warn.mock.calls).toEqual([[expect.stringContaining('queue_up'), { code: 'LONGSHORE_METRICS' }]]);
  });
});

describe('the handler', () => {
  it('answers GET and HEAD with the text, and nothing else', async () => {
    const b = meteredBench({ jobs: [job()] });
    const ask = (method: string) => b.metered.handler(new Request('http://x/metrics', { method }));
    const answer = await ask('GET');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await answer.text()).toBe(await b.metered.text());
    expect(await (await ask('HEAD')).text()).toBe('');
    expect((await ask('POST')).status).toBe(405);
  });
});

describe('options', () => {
  const wrong: readonly [MetricsOptions, RegExp][] = [
    [
      { registry: 'mine' as never },
      /Expected registry of the metrics to be a Registry of prom-client, got "mine"/,
    ],
    [{ prefix: '1-' }, /Expected prefix of the metrics to have letters.*got "1-"/],
    [{ timeoutMs: 0 }, /timeoutMs of the metrics to be an integer of 1 or more, got 0/],
    [{ cacheMs: -1 }, /cacheMs of the metrics/],
    [{ maxLabelSets: 0 }, /maxLabelSets of the metrics/],
    [{ maxTenants: 0.5 }, /maxTenants of the metrics/],
    [{ durationBuckets: [] }, /durationBuckets of the metrics to be seconds above 0 in rising order/],
    [{ waitBuckets: [1, 1] }, /waitBuckets.*got \[1, 1\]/],
    [{ waitBuckets: [0] }, /waitBuckets.*got \[0\]/],
    [{ waitBuckets: 'all' as never }, /waitBuckets.*got "all"/],
  ];
  it.each(wrong)('%j are refused', async (options, message) => {
    const b = bench({ jobs: [job()] });
    expect(await refusalText(() => metrics(b.client, options))).toMatch(message);
  });
});
