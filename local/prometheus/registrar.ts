/** Makes metrics in a registry that may be the user's: nothing there is touched, and a name that is taken breaks nothing. */

import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';
import type { MetricsRegistry } from './options.ts';

/** The name without the prefix, what it means, and its labels. */
export type Naming = readonly [name: string, help: string, labelNames: readonly string[]];
export type Labels = Readonly<Record<string, string>>;
/** One value of a gauge. */
export type Sample = readonly [labels: Labels, value: number];

export interface Registrar {
  counter(...naming: Naming): Counter;
  histogram(buckets: readonly number[], ...naming: Naming): Histogram;
  /** A gauge that has what `read` answers at each scrape, and no older value. */
  gauge(read: () => Promise<readonly Sample[]>, ...naming: Naming): void;
  /** Names that were taken: these metrics are not in the registry. */
  readonly clashes: readonly string[];
  /** Takes out of the registry what was made here. */
  remove(): void;
}

export function createRegistrar(given: MetricsRegistry, prefix: string): Registrar {
  const registry = given as Registry;
  const clashes: string[] = [];
  const made = new Map<string, Metric>();

  function common(name: string, help: string, labelNames: readonly string[]) {
    const full = `${prefix}${name}`;
    const isTaken = registry.getSingleMetric(full) !== undefined;
    if (isTaken) clashes.push(full);
    return { name: full, help, labelNames: [...labelNames], registers: isTaken ? [] : [registry] };
  }
  function kept<M extends Metric>(name: string, metric: M): M {
    made.set(name, metric);
    return metric;
  }

  return {
    clashes,
    counter(...naming) {
      const settings = common(...naming);
      return kept(settings.name, new Counter(settings));
    },
    histogram(buckets, ...naming) {
      const settings = common(...naming);
      return kept(settings.name, new Histogram({ ...settings, buckets: [...buckets] }));
    },
    gauge(read, ...naming) {
      const settings = common(...naming);
      const gauge: Gauge = new Gauge({
        ...settings,
        async collect() {
          const samples = await read();
          gauge.reset(); // only now: another scrape may be reading
          for (const [labels, value] of samples) gauge.set(labels, value);
        },
      });
      kept(settings.name, gauge);
    },
    remove() {
      for (const [name, metric] of made) {
        if (registry.getSingleMetric(name) === metric) registry.removeSingleMetric(name);
      }
    },
  };
}
