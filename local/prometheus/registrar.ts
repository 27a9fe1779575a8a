/**
 * Creates metrics in a registry that may be the user's. It changes nothing there and leaves out names in use. Gauges ask services that may
 * never answer, so questions are cached (`cacheMs`) and have a timeout (`timeoutMs`).
 */

import { Counter, Gauge, Histogram, type Metric, type Registry } from 'prom-client';
import { checkInteger } from '../../core/base/checks.ts';
import { type Clock, within } from '../../core/base/clock.ts';
import { config, shown } from '../../core/base/errors.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';

/** Name without the prefix, help text, and labels. */
type Naming = readonly [name: string, help: string, labelNames: readonly string[]];
type Labels = Readonly<Record<string, string>>;
/** One value of a gauge. */
export type Sample = readonly [labels: Labels, value: number];

export type Registrar = ReturnType<typeof createRegistrar>;

export function createRegistrar(given: MetricsRegistry, prefix: string) {
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
    /** Names that were in use. These metrics are not in the registry. */
    clashes: clashes as readonly string[],
    counter(...naming: Naming): Counter {
      const settings = common(...naming);
      return kept(settings.name, new Counter(settings));
    },
    histogram(buckets: readonly number[], ...naming: Naming): Histogram {
      const settings = common(...naming);
      return kept(settings.name, new Histogram({ ...settings, buckets: [...buckets] }));
    },
    /** A gauge with the samples that `read` returns at each scrape. Older values are removed. */
    gauge(read: () => Promise<readonly Sample[]>, ...naming: Naming): void {
      const settings = common(...naming);
      const gauge: Gauge = new Gauge({
        ...settings,
        async collect() {
          const samples = await read();
          gauge.reset(); // only now, because another scrape may be reading
          for (const [labels, value] of samples) gauge.set(labels, value);
        },
      });
      kept(settings.name, gauge);
    },
    /** Removes the metrics that were created here from the registry. */
    remove(): void {
      for (const [name, metric] of made) {
        if (registry.getSingleMetric(name) === metric) registry.removeSingleMetric(name);
      }
    },
  };
}

/** The parts of a `Registry` of prom-client that are used. */
interface MetricsRegistry {
  readonly contentType: string;
  metrics(): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: a metric of prom-client, whose types need not be installed
  registerMetric(metric: any): void;
  getSingleMetric(name: string): unknown;
  removeSingleMetric(name: string): void;
}

export interface MetricsOptions {
  /** Registry for the metrics, such as your own. A metric whose name is in use there is left out with a warning. @default a new one */
  readonly registry?: MetricsRegistry;
  /** Prefix of every metric name, for example `shop_`. @default '' */
  readonly prefix?: string;
  /** How long a scrape waits for the queue and the list of workers, in ms. @default 2_000 */
  readonly timeoutMs?: number;
  /** How long answers of the queue are cached for scrapes, in ms. @default 5_000 */
  readonly cacheMs?: number;
  /** Maximum number of pairs of queue and job per metric. Further ones are counted under `other`. @default 500 */
  readonly maxLabelSets?: number;
  /** Maximum number of tenants as label values of the counters. Further ones are counted under `other`. @default 0: no tenant label */
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

/** Fills in the defaults. Throws `CONFIG` for a wrong option. */
export function settingsOf({ registry, ...options }: MetricsOptions): MetricsSettings {
  const settings = { ...defaults, ...options };
  const { prefix } = settings;
  if (registry !== undefined && typeof registry?.registerMetric !== 'function') {
    throw config(
      `Expected registry of the metrics to be a Registry of prom-client, got ${shown(registry)}. Leave it out to use a new one.`,
    );
  }
  if (typeof prefix !== 'string' || !/^([a-zA-Z_][a-zA-Z0-9_]*)?$/.test(prefix)) {
    throw config(
      `Expected prefix of the metrics to have letters, digits and _ only, and not to begin with a digit, got ${shown(prefix)}.`,
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

/** A question without an answer is dropped after this time. Until then it is not asked again. */
const giveUpMs = 60_000;

interface AskLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly cacheMs: number;
}

/** `null` = no answer in time, or a failure. Never rejects. Concurrent calls share one question. */
export function bounded<T>(
  { clock, timeoutMs, cacheMs }: AskLimits,
  question: () => Promise<T>,
): () => Promise<T | null> {
  let open: { readonly answer: Promise<T | null>; readonly since: number } | null = null;
  let last: { readonly answer: T | null; readonly at: number } | null = null;

  function ask(): NonNullable<typeof open> {
    const answer = question().then(
      (value) => ended(one, value),
      () => ended(one, null),
    );
    const one: NonNullable<typeof open> = { answer, since: clock.now() };
    return one;
  }

  function ended(one: typeof open, answer: T | null): T | null {
    if (open === one) {
      open = null;
      last = { answer, at: clock.now() };
    }
    return answer;
  }

  return async () => {
    const now = clock.now();
    if (last && now - last.at < cacheMs) return last.answer;
    if (!open || now - open.since >= giveUpMs) open = ask();
    const waitMs = open.since + timeoutMs - now;
    if (waitMs <= 0) return null; // an earlier call has already waited for the whole timeout
    return within<T | null>(clock, waitMs, open.answer, () => null);
  };
}

/**
 * Creates gauges that share the answer to one question. Asks each backend separately, so that one that is down does not hide the others.
 * With several backends, samples have the label `backend`.
 */
export function askedGauges<T>(
  { gauge }: Registrar,
  clients: readonly Client[],
  settings: MetricsSettings,
  question: (client: Client) => Promise<T>,
) {
  const isOne = clients.length === 1;
  const asked = clients.map((client) => ({
    client,
    answer: bounded({ clock: client.app.clock, ...settings }, () => question(client)),
    own: isOne ? {} : { backend: client.name! },
  }));
  /** @param samplesOf gets `null` if there was no answer */
  return (
    name: string,
    help: string,
    labels: readonly string[],
    samplesOf: (answer: T | null, client: Client) => readonly Sample[],
  ): void => {
    const read = async (): Promise<Sample[]> => {
      const found = asked.map(async ({ client, answer, own }) =>
        samplesOf(await answer(), client).map(([labels, value]): Sample => [{ ...labels, ...own }, value]),
      );
      return (await Promise.all(found)).flat();
    };
    gauge(read, name, help, isOne ? labels : [...new Set(['backend', ...labels])]);
  };
}
