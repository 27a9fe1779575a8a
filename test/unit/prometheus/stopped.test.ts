/** Gauges of stopped jobs and of limits: what the app declares, and never a key that a payload has made. */

import { describe, expect, it } from 'vitest';
import { closeBreaker } from '../../../core/features/limits/breaker.ts';
import { pauseJob } from '../../../core/features/limits/pause.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { job } from '../core/kit.ts';
import { meteredBench, named } from './kit.ts';

const minute = 60_000;
const mail = job({
  name: 'mail',
  retry: fixed(0),
  breaker: { failures: 2, openMs: minute },
  handle(payload) {
    if (payload === 'fail') throw new Error('the server is down');
  },
});
const plain = job({ name: 'plain' });

describe('the gauges of stopped jobs', () => {
  const holding = (values: Readonly<Record<string, number>>): string[] =>
    Object.entries(named(values, 'queue_job_stopped'))
      .filter(([, value]) => value === 1)
      .map(([labels]) => labels.replace('queue_job_stopped', ''));

  it('tell which are paused, which breakers are open, and how many wait', async () => {
    const b = meteredBench({ jobs: [mail, plain] });
    expect(named(await b.scrape(), 'queue_job_stopped')).toEqual({
      'queue_job_stopped{job="mail",state="paused"}': 0,
      'queue_job_stopped{job="mail",state="open"}': 0,
      'queue_job_stopped{job="mail",state="trying"}': 0,
      'queue_job_stopped{job="plain",state="paused"}': 0,
    });
    for (let n = 0; n < 2; n++) await b.once(mail, 'fail');
    await b.once(mail, 'ok');
    await pauseJob(b.client, 'plain');
    b.clock.advance(6_000);
    const values = await b.scrape();
    expect(holding(values)).toEqual(['{job="mail",state="open"}', '{job="plain",state="paused"}']);
    expect(values).toMatchObject({
      'queue_job_stopped_waiting{job="mail",state="open"}': 1,
      'queue_job_stopped_waiting{job="plain",state="paused"}': 0,
    });
    b.clock.advance(minute);
    expect(holding(await b.scrape())).toEqual([
      '{job="mail",state="trying"}',
      '{job="plain",state="paused"}',
    ]);
    await closeBreaker(b.client, 'mail');
    b.clock.advance(6_000);
    expect(holding(await b.scrape())).toEqual(['{job="plain",state="paused"}']);
  });

  it('have no label for what the app does not know', async () => {
    const b = meteredBench({ jobs: [plain] });
    for (let n = 0; n < 100; n++) await b.client.stores.limits!.hold(`pause:other-${n}`, Infinity);
    expect(JSON.stringify(await b.scrape())).not.toContain('other-');
  });

  it('are no more than maxLabelSets, those that are stopped first', async () => {
    const jobs = Array.from({ length: 20 }, (_, n) => job({ name: `j${n}` }));
    const b = meteredBench({ jobs }, { maxLabelSets: 5 });
    await pauseJob(b.client, 'j19');
    const found = named(await b.scrape(), 'queue_job_stopped');
    expect(Object.keys(found)).toHaveLength(5);
    expect(found['queue_job_stopped{job="j19",state="paused"}']).toBe(1);
  });
});

describe('the gauges of limits', () => {
  const shared = job({ name: 'shared', concurrency: { limit: 3 } });
  const perKey = job({ name: 'keyed', rate: { limit: 5, perMs: minute, key: (payload) => String(payload) } });
  const queues = { default: { rate: { limit: 2, perMs: minute } } };

  it('tell slots, those in use and who waits, of limits without a key, and of no other', async () => {
    const b = meteredBench({ jobs: [shared, perKey], queues });
    for (let n = 0; n < 3; n++) await b.once(perKey, `tenant-${n}`);
    const values = await b.scrape();
    expect(values).toMatchObject({
      'queue_limit_slots{limit="queue:default:rate"}': 2,
      'queue_limit_slots_used{limit="queue:default:rate"}': 2,
      'queue_limit_waiting{limit="queue:default:rate"}': 1,
      'queue_limit_slots{limit="job:shared:concurrency"}': 3,
      'queue_limit_slots_used{limit="job:shared:concurrency"}': 0,
      'queue_limit_waiting{limit="job:shared:concurrency"}': 0,
    });
    expect(JSON.stringify(values)).not.toMatch(/tenant-|keyed:/);
  });

  it('are no more than maxLabelSets', async () => {
    const jobs = Array.from({ length: 20 }, (_, n) => job({ name: `j${n}`, concurrency: { limit: 1 } }));
    const b = meteredBench({ jobs }, { maxLabelSets: 5 });
    expect(Object.keys(named(await b.scrape(), 'queue_limit_slots'))).toHaveLength(5);
    expect((await b.scrape()).queue_metrics_overflow_total).toBe(1);
  });

  it('are absent while their store does not answer, and where none is', async () => {
    const b = meteredBench({ jobs: [shared] });
    const { limits } = b.client.stores;
    const list = limits!.list;
    Object.assign(limits!, { list: async () => Promise.reject(new Error('no answer')) });
    const values = await b.scrape();
    expect(named(values, 'queue_limit_slots')).toEqual({});
    expect(values['queue_up{backend="memory"}']).toBe(1);
    Object.assign(limits!, { list });
    b.clock.advance(6_000);
    expect(Object.keys(named(await b.scrape(), 'queue_limit_slots'))).toHaveLength(1);
    delete (b.client.stores as { limits?: unknown }).limits;
    b.clock.advance(6_000);
    expect(named(await b.scrape(), 'queue_limit_slots')).toEqual({});
  });
});
