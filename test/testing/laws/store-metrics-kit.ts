/** Shared by the laws of metrics. */

import assert from 'node:assert/strict';
import type { MetricFilter, MetricRow, MetricStore } from '../../../core/contract/derived/metrics.ts';
import { metricKey } from '../../../core/kit/records/metric-rows.ts';
import { type Kit, mail, minute, reports } from './kit.ts';

/** The store of every opening of the storage. */
export function numbersOf(t: Kit): MetricStore[] {
  return t.openings.map(({ name, stores }) => {
    assert.ok(stores?.metrics, `the stores of "${name}" keep no numbers and declare no lack of them`);
    return stores.metrics;
  });
}

/** A row of a whole minute. */
export const rowAt = (t: Kit, change: Partial<MetricRow> = {}): MetricRow => ({
  step: 'minute',
  at: minuteOf(t),
  queue: mail,
  job: 'invoice.send',
  source: 'worker-1',
  body: JSON.stringify({ v: 1, done: 7 }),
  ...change,
});

export const minuteOf = (t: Kit): number => t.now() - (t.now() % minute);

export const sorted = (rows: readonly MetricRow[]): MetricRow[] =>
  [...rows].sort((a, b) => (metricKey(a) < metricKey(b) ? -1 : 1));

/** They are what is read, in any order, and nothing else is. */
export async function reads(
  numbers: MetricStore,
  filter: Partial<MetricFilter>,
  rows: readonly MetricRow[],
): Promise<void> {
  const everything = { step: 'minute', from: 0, to: Number.MAX_SAFE_INTEGER } as const;
  assert.deepEqual(sorted(await numbers.read({ ...everything, ...filter })), sorted(rows));
}

/** `perMinute` rows in each of `minutes` minutes, the latest first: of ten jobs in two queues. */
export function manyRows(t: Kit, minutes: number, perMinute: number): MetricRow[] {
  return Array.from({ length: minutes * perMinute }, (_, n) => {
    const within = Math.floor(n / minutes);
    return rowAt(t, {
      at: minuteOf(t) - (n % minutes) * minute,
      queue: within % 2 === 0 ? mail : reports,
      job: `job-${within % 10}`,
      source: `worker-${Math.floor(within / 10)}`,
      body: JSON.stringify({ 'of "世 \u{1f600}"': n }),
    });
  });
}
