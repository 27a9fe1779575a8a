/** The metrics of the conventions, as an SDK collects them. */

import {
  DataPointType,
  type HistogramMetricData,
  type MetricData,
  type SumMetricData,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { job } from '../core/kit.ts';
import { watch, withContextManager } from './kit.ts';

withContextManager();

const attributes = (type: string) => ({
  'messaging.system': 'longshore',
  'messaging.system.name': 'longshore',
  'messaging.destination.name': 'mail',
  'messaging.longshore.job': 'work',
  'messaging.operation.name': type,
  'messaging.operation.type': type,
});
const isHistogram = (one: MetricData): one is HistogramMetricData =>
  one.dataPointType === DataPointType.HISTOGRAM;

describe('metrics', () => {
  it('count and time what was enqueued and what was run', async () => {
    const one = job({
      queue: 'mail',
      handle: (payload) => {
        if (payload === 'bad') throw new TypeError('bad');
      },
    });
    const t = watch({}, { jobs: [one] });
    const results = await t.client.enqueueMany(one, ['good', 'bad', Number.NaN]);
    expect(results.map(({ ok }) => ok)).toEqual([true, true, false]);
    await t.next();
    await t.next();
    const metrics = await t.metrics();
    const counts = metrics
      .filter((metric): metric is SumMetricData => !isHistogram(metric))
      .map(({ descriptor, dataPoints }) => [
        `${descriptor.name} ${descriptor.unit}`,
        dataPoints.map(({ value, attributes: all }) => [value, all]),
      ]);
    expect(Object.fromEntries(counts)).toEqual({
      'messaging.client.sent.messages {message}': [
        [2, attributes('send')],
        [1, { ...attributes('send'), 'error.type': 'PAYLOAD' }],
      ],
      'messaging.client.consumed.messages {message}': [[2, attributes('process')]],
    });
    const times = metrics
      .filter(isHistogram)
      .map(({ descriptor, dataPoints }) => [
        `${descriptor.name} ${descriptor.unit}`,
        dataPoints.map(({ value, attributes: all }) => [value.count, all]),
      ]);
    expect(Object.fromEntries(times)).toEqual({
      'messaging.client.operation.duration s': [[1, { ...attributes('send'), 'error.type': 'PAYLOAD' }]],
      'messaging.process.duration s': [
        [1, attributes('process')],
        [1, { ...attributes('process'), 'error.type': 'TypeError' }],
      ],
    });
    const [process] = metrics.filter(isHistogram).filter(({ descriptor }) => /process/.test(descriptor.name));
    expect(process!.dataPoints[0]!.value.buckets.boundaries.slice(0, 3)).toEqual([0.005, 0.01, 0.025]);
  });
});
