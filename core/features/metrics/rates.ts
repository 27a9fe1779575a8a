/** How fast queues move, from the metrics of the workers. */

import type { MetricRow } from '../../contract/derived/metrics.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { stepMs, stepOf } from '../../kit/records/metric-steps.ts';
import { quantile } from './histogram.ts';
import { sums } from './roll-up.ts';
import { sumOf } from './tally.ts';

export interface Rates {
  readonly donePerMinute: number;
  /** Jobs that died. */
  readonly failedPerMinute: number;
  readonly retriedPerMinute: number;
}

export interface QueueRates extends Rates {
  /** The time for which 95 % of the jobs were ready before they began, at most; `null` = none has begun. */
  readonly waitP95Ms: number | null;
}

const minuteMs = stepMs.minute;
const rounded = (value: number): number => Math.round(value * 10) / 10;
/** Workers write their metrics at this interval. */
const freshMs = 10_000;

/** Rates of each queue, in the last minute and the current one. `null` if no metrics are kept. */
export function queueRates({ stores: { metrics } }: Pick<Client, 'stores'>) {
  let askedAt = Number.NEGATIVE_INFINITY;
  let known: ReadonlyMap<string, QueueRates> = new Map();
  return async (queues: readonly string[], now: number): Promise<typeof known | null> => {
    if (!metrics) return null;
    if (now - askedAt < freshMs) return known;
    const current = stepOf('minute', now);
    // Reads all queues at once: these are the rows of two minutes, for any number of queues.
    const rows = await metrics.read({ step: 'minute', from: current - minuteMs, to: now + 1 });
    const byQueue = Map.groupBy(rows, ({ queue }) => queue);
    known = new Map(queues.map((queue) => [queue, ratesIn(byQueue.get(queue) ?? [], current, now)]));
    askedAt = now;
    return known;
  };
}

export function totalRates(rates: readonly Rates[]): Rates {
  const sum = (of: keyof Rates) => rates.reduce((total, one) => total + one[of], 0);
  return {
    donePerMinute: sum('donePerMinute'),
    failedPerMinute: sum('failedPerMinute'),
    retriedPerMinute: sum('retriedPerMinute'),
  };
}

function ratesIn(rows: readonly MetricRow[], current: number, now: number): QueueRates {
  const before = sumOf(sums(rows.filter(({ at }) => at < current)).values());
  const under = sumOf(sums(rows.filter(({ at }) => at >= current)).values());
  const minutes = 1 + (now - current) / minuteMs;
  const rate = (of: 'done' | 'dead' | 'retried') => rounded((before[of] + under[of]) / minutes);
  return {
    donePerMinute: rate('done'),
    failedPerMinute: rate('dead'),
    retriedPerMinute: rate('retried'),
    waitP95Ms: quantile(before.waitMs, 0.95) ?? quantile(under.waitMs, 0.95),
  };
}
