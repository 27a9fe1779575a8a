/** What a user may say about the metrics, checked. */

import { checkInteger } from '../../core/base/checks.ts';
import { config, shown } from '../../core/base/errors.ts';

/** A `Registry` of prom-client, by what is asked of it. */
export interface MetricsRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: a metric of prom-client, whose types need not be installed
  registerMetric(metric: any): void;
  getSingleMetric(name: string): unknown;
  removeSingleMetric(name: string): void;
}

export interface MetricsOptions {
  /** Where the metrics are registered, beside your own. One whose name is taken there is left out, and a warning says so. @default a new one */
  readonly registry?: MetricsRegistry;
  /** Begins every name, for example `shop_`. @default '' */
  readonly prefix?: string;
  /** How long a scrape waits for the queue and for the list of workers. ms. @default 2_000 */
  readonly timeoutMs?: number;
  /** What the queue has said serves all scrapes within this time. ms. @default 5_000 */
  readonly cacheMs?: number;
  /** A metric has at most so many pairs of queue and job by name; further ones are counted under `other`. @default 500 */
  readonly maxLabelSets?: number;
  /** How many tenants have a label of their own on the counters; further ones are `other`. @default 0: no label */
  readonly maxTenants?: number;
  /** Upper bounds of `queue_job_duration_seconds`, in seconds. @default 0.005 to 300 */
  readonly durationBuckets?: readonly number[];
  /** Upper bounds of `queue_job_wait_seconds`, in seconds. @default 0.01 to 3_600 */
  readonly waitBuckets?: readonly number[];
}

export type MetricsSettings = Required<Omit<MetricsOptions, 'registry'>>;

const defaults: MetricsSettings = {
  prefix: '',
  timeoutMs: 2_000,
  cacheMs: 5_000,
  maxLabelSets: 500,
  maxTenants: 0,
  durationBuckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  waitBuckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600],
};

/** Throws `CONFIG`. */
export function settingsOf({ registry, ...options }: MetricsOptions): MetricsSettings {
  const settings = { ...defaults, ...options };
  const { prefix } = settings;
  if (registry !== undefined && typeof registry?.registerMetric !== 'function') {
    throw config(
      `Expected registry of the metrics to be a Registry of prom-client, got ${shown(registry)}. Leave it out for one of their own.`,
    );
  }
  if (typeof prefix !== 'string' || !/^([a-zA-Z_][a-zA-Z0-9_]*)?$/.test(prefix)) {
    throw config(
      `Expected prefix of the metrics to have letters, digits and _ and to begin with no digit, got ${shown(prefix)}.`,
    );
  }
  checkInteger('timeoutMs of the metrics', settings.timeoutMs, 1);
  checkInteger('cacheMs of the metrics', settings.cacheMs, 0);
  checkInteger('maxLabelSets of the metrics', settings.maxLabelSets, 1);
  checkInteger('maxTenants of the metrics', settings.maxTenants, 0);
  checkBuckets('durationBuckets', settings.durationBuckets);
  checkBuckets('waitBuckets', settings.waitBuckets);
  return settings;
}

function checkBuckets(name: string, buckets: readonly number[]): void {
  const isRising =
    Array.isArray(buckets) &&
    buckets.length > 0 &&
    buckets.every((bound, i) => Number.isFinite(bound) && bound > (i === 0 ? 0 : buckets[i - 1]!));
  if (isRising) return;
  const got = Array.isArray(buckets) ? `[${buckets.map(shown).join(', ')}]` : shown(buckets);
  throw config(
    `Expected ${name} of the metrics to be seconds above 0 in rising order, like [0.1, 1, 10], got ${got}.`,
  );
}
