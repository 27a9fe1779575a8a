/** Metrics of a bench, and its text as values by name and labels. */

import { type MetricsOptions, metrics } from '../../../local/prometheus/index.ts';
import { type BenchOptions, bench } from '../core/kit.ts';

/** Its store keeps no numbers, unless a test gives one that does. */
export function meteredBench(options: BenchOptions = {}, metricsOptions: MetricsOptions = {}) {
  const b = bench(options);
  if (!options.stores?.metrics) delete (b.client.stores as { metrics?: unknown }).metrics;
  const metered = metrics(b.client, metricsOptions);
  return { ...b, metered, scrape: async () => valuesOf(await metered.text()) };
}

/** `name{labels}` to its value, as the text has it. */
export function valuesOf(text: string): Readonly<Record<string, number>> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Those whose names begin so. */
export const named = (values: Readonly<Record<string, number>>, name: string): Record<string, number> =>
  Object.fromEntries(Object.entries(values).filter(([key]) => key.replace(/\{.*/, '') === name));

/** Of these, what has been counted. */
export const counted = (values: Readonly<Record<string, number>>, name: string): Record<string, number> =>
  Object.fromEntries(Object.entries(named(values, name)).filter(([, value]) => value !== 0));
