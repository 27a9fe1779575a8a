/** Reads metrics: sums and a series of the last hour, day or month, for each job and for all. */

import { checkNumber } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import type { MetricFilter, MetricStep, MetricStore } from '../../contract/derived/metrics.ts';
import {
  type Durations,
  ends,
  type Flag,
  type JobNumbers,
  type MetricPeriod,
  type MetricReport,
  type MetricRequest,
  type PastThresholds,
} from '../../kernel/app/metric-report.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { stepMs, stepOf } from '../../kit/records/metric-steps.ts';
import { type Histogram, quantile } from './histogram.ts';
import { type Sums, sums } from './roll-up.ts';
import { add, failedOf, newTally, ranOf, sumOf, type Tally } from './tally.ts';

const periods: Readonly<Record<MetricPeriod, { readonly step: MetricStep; readonly steps: number }>> = {
  hour: { step: 'minute', steps: 60 },
  day: { step: 'hour', steps: 24 },
  month: { step: 'day', steps: 30 },
};

/** The smaller step from which a step is added up. */
const parts = { day: 'hour', hour: 'minute', minute: null } as const;

type Read = (store: MetricStore) => Promise<readonly [now: Found, past: Found]>;

/** Implements `client.metrics()`. @param readEach reads the stores whose metrics are added up */
export async function metricsOf(
  { app, backend, stores }: Pick<Client, 'app' | 'backend' | 'stores'>,
  { last = 'hour', queue, job, flag = {} }: MetricRequest = {},
  readEach = async (one: Read) => (stores.metrics ? [await one(stores.metrics)] : []),
): Promise<MetricReport> {
  if (!Object.hasOwn(periods, last)) {
    throw config(`Expected metrics of the last hour, day or month, got ${shown(last)}.`);
  }
  const now = app.clock.now();
  const { step, steps } = periods[last];
  const from = stepOf(step, now) - (steps - 1) * stepMs[step];
  const only = { ...(queue !== undefined && { queue }), ...(job !== undefined && { job }) };
  const before = { from: stepOf('day', from) - 30 * stepMs.day, to: stepOf('day', from) };
  // Each store separately, because each is rolled up separately.
  const reads = await readEach((store) =>
    Promise.all([
      read(store, { step, from, to: now + 1, ...only }),
      read(store, { step: 'day', ...before, ...only }),
    ]),
  );
  const [first, ...others] = reads;
  if (!first)
    throw config(
      `Backend "${backend.name}" keeps no numbers: give connect() a store that does, for example sqliteStore().`,
    );
  const [found, past] = first;
  for (const other of others)
    for (const [i, into] of first.entries()) for (const [at, sum] of other[i]!) mergeAt(into, at, sum);
  const whole = total(found);
  const jobs = [...whole].map(([key, { queue, job, tally }]) => {
    const flags = flagsOf(tally, daysOf(past, key), flag);
    return { queue, job, ...numbersOf(tally), flags };
  });
  const series = Array.from({ length: steps }, (_, i) => {
    const at = from + i * stepMs[step];
    return { at, ...numbersOf(sumOf(found.get(at)?.values() ?? [])) };
  });
  return {
    step,
    from,
    to: now,
    all: numbersOf(sumOf(whole.values())),
    series,
    jobs: jobs.toSorted((a, b) => attemptsOf(b) - attemptsOf(a) || (a.job < b.job ? -1 : 1)),
  };
}

/** By step. */
type Found = Map<number, Sums>;

/** Rolled-up steps, and the later ones from their parts. A roll-up goes in order, so nothing before the last one is missing. */
async function read(metrics: MetricStore, filter: MetricFilter): Promise<Found> {
  const { step } = filter;
  const rows = await metrics.read(filter);
  const found = byStep(rows, step);
  const part = parts[step];
  if (part === null) return found;
  const from = rows.reduce((latest, { at }) => Math.max(latest, at + stepMs[step]), filter.from);
  if (from >= filter.to) return found;
  for (const [at, sum] of await read(metrics, { ...filter, step: part, from })) {
    mergeAt(found, stepOf(step, at), sum);
  }
  return found;
}

function mergeAt(found: Found, at: number, sum: Sums): void {
  const whole: Sums = found.get(at) ?? new Map();
  found.set(at, whole);
  merge(whole, sum);
}

function byStep(rows: Awaited<ReturnType<MetricStore['read']>>, step: MetricStep): Found {
  const groups = Map.groupBy(rows, ({ at }) => stepOf(step, at));
  return new Map([...groups].map(([at, group]) => [at, sums(group)]));
}

function merge(into: Sums, others: Sums): void {
  for (const [key, { queue, job, tally }] of others) {
    // A new tally: adding to the tally of a part would count the part twice when it is used again.
    const sum = into.get(key) ?? { queue, job, tally: newTally() };
    into.set(key, sum);
    add(sum.tally, tally);
  }
}

function total(found: Found): Sums {
  const all: Sums = new Map();
  for (const each of found.values()) merge(all, each);
  return all;
}

const daysOf = (past: Found, key: string): Tally[] =>
  [...past.values()].flatMap((day) => day.get(key)?.tally ?? []);

const attemptsOf = (numbers: JobNumbers): number => ends.reduce((sum, end) => sum + numbers[end], 0);

function numbersOf(tally: Tally): JobNumbers {
  const { runMs, waitMs, memory, lastAt, ...ended } = tally;
  const ran = ranOf(tally);
  return {
    ...ended,
    successRate: ran === 0 ? null : tally.done / ran,
    runMs: durationsOf(runMs),
    waitMs: durationsOf(waitMs),
    memory: memory.count === 0 ? null : { average: memory.sum / memory.count, max: memory.max },
    lastAt: lastAt === 0 ? null : lastAt,
  };
}

function durationsOf(histogram: Histogram): Durations | null {
  const { count, sum, max } = histogram;
  if (count === 0) return null;
  const at = (q: number): number => quantile(histogram, q)!;
  return { average: sum / count, p50: at(0.5), p95: at(0.95), p99: at(0.99), max };
}

export function flagsOf(
  now: Tally,
  past: readonly Tally[],
  { slowerTimes = 1.5, failingBy = 0.05, least = 20 }: PastThresholds,
): Flag[] {
  checkNumber('flag.slowerTimes', slowerTimes, 1);
  checkNumber('flag.failingBy', failingBy, 0);
  checkNumber('flag.least', least, 1);
  const days = past.filter((day) => ranOf(day) > 0);
  const ranBefore = days.reduce((sum, day) => sum + ranOf(day), 0);
  if (ranOf(now) < least || ranBefore < Math.max(1, least)) return [];
  const flags: Flag[] = [];
  const slow = { now: p95Of(now), past: median(days.map(p95Of)) };
  // Below a millisecond the clock is too coarse.
  if (slow.now > Math.max(1, slow.past) * slowerTimes) flags.push({ kind: 'slower', ...slow });
  const failed = { now: failedShare(now), past: median(days.map(failedShare)) };
  if (failed.now > failed.past + failingBy) flags.push({ kind: 'failing', ...failed });
  return flags;
}

const p95Of = ({ runMs }: Tally): number => quantile(runMs, 0.95) ?? 0;

/** The median; of an even number of values the lower one. @param values at least one */
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]!;

const failedShare = (tally: Tally): number => failedOf(tally) / ranOf(tally);
