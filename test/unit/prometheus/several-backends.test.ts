/** What the metrics of an app with several backends say of each. */

import { expect, it } from 'vitest';
import { newTally, packTally } from '../../../core/features/metrics/tally.ts';
import { connect } from '../../../core/index.ts';
import { stepOf } from '../../../core/kit/records/metric-steps.ts';
import { metrics } from '../../../local/prometheus/index.ts';
import { createBench } from '../routing/kit.ts';
import { named, valuesOf } from './kit.ts';

it('each backend is asked by itself, and what it says has its name', async () => {
  const { app, backends, thumb, mail } = createBench();
  const away = { ...backends.default.admin!, stats: () => Promise.reject(new Error('gone')) };
  const all = { ...backends, default: { ...backends.default, admin: away } };
  const client = connect(app, all);
  const metered = metrics(client);
  await client.enqueue(thumb, { n: 1 });
  await client.enqueue(mail, { n: 1 });
  const values = valuesOf(await metered.text());
  metered.close();
  expect(named(values, 'queue_up')).toEqual({
    'queue_up{backend="default"}': 0,
    'queue_up{backend="fast"}': 1,
  });
  expect(values['queue_depth{queue="default",status="ready",backend="fast"}']).toBe(1);
  expect(Object.keys(named(values, 'queue_depth')).filter((key) => /backend="default"/.test(key))).toEqual(
    [],
  );
  expect(values['queue_workers{queue="images",backend="fast"}']).toBe(0);
  expect(values['queue_workers{queue="default",backend="default"}']).toBe(0);
  expect(values['workers{status="healthy",backend="fast"}']).toBe(0);
});

it('failures and memory of the last hour are those of all that keep numbers', async () => {
  const { app, backends } = createBench();
  const client = connect(app, backends);
  const at = app.clock.now();
  for (const { stores } of client.backends.values()) {
    const tally = { ...newTally(), retried: 1, dead: 1, memory: { count: 2, sum: 300, max: 200 } };
    const row = {
      step: 'minute',
      at: stepOf('minute', at),
      queue: 'default',
      job: 'mail',
      source: 'w',
    } as const;
    await stores.metrics!.write([{ ...row, body: packTally(tally) }]);
  }
  const metered = metrics(client);
  const values = valuesOf(await metered.text());
  metered.close();
  expect(named(values, 'queue_failed_jobs_hourly')).toEqual({
    'queue_failed_jobs_hourly{queue="default"}': 4,
  });
  expect(named(values, 'queue_job_memory_bytes')).toEqual({
    'queue_job_memory_bytes{queue="default",job="mail",stat="average"}': 150,
    'queue_job_memory_bytes{queue="default",job="mail",stat="max"}': 200,
  });
});
