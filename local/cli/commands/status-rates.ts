/** How fast queues move: from the numbers that workers keep, and where there are none from what two looks differ by. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import type { MetricRow } from '../../../core/contract/metrics.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import type { Client } from '../../../core/enqueue/client.ts';
import { quantile } from '../../../core/metrics/histogram.ts';
import { sums } from '../../../core/metrics/roll-up.ts';
import { stepMs, stepOf } from '../../../core/metrics/steps.ts';
import { add, newTally, type Tally } from '../../../core/metrics/tally.ts';

export interface Rates {
  readonly donePerMinute: number;
  /** Jobs that died. */
  readonly failedPerMinute: number;
  readonly retriedPerMinute: number;
}

export interface QueueRates extends Rates {
  /** How long 95 % of the jobs were ready before they began; `null` = none has begun. */
  readonly waitP95Ms: number | null;
}

const minuteMs = stepMs.minute;
const rounded = (value: number): number => Math.round(value * 10) / 10;
/** Workers write their numbers that often. */
const freshMs = 10_000;

/** Of each queue, in the last minute and the one under way. `null` where no numbers are kept. */
export function queueRates({ stores: { metrics } }: Pick<Client, 'stores'>) {
  let askedAt = Number.NEGATIVE_INFINITY;
  let known: ReadonlyMap<string, QueueRates> = new Map();
  return async (queues: readonly string[], now: number): Promise<typeof known | null> => {
    if (!metrics) return null;
    if (now - askedAt < freshMs) return known;
    const current = stepOf('minute', now);
    // All queues at once: it is the rows of two minutes, however many queues there are.
    const rows = await metrics.read({ step: 'minute', from: current - minuteMs, to: now + 1 });
    const byQueue = Map.groupBy(rows, ({ queue }) => queue);
    known = new Map(queues.map((queue) => [queue, ratesIn(byQueue.get(queue) ?? [], current, now)]));
    askedAt = now;
    return known;
  };
}

function ratesIn(rows: readonly MetricRow[], current: number, now: number): QueueRates {
  const before = tallyOf(rows.filter(({ at }) => at < current));
  const under = tallyOf(rows.filter(({ at }) => at >= current));
  const minutes = 1 + (now - current) / minuteMs;
  const rate = (of: 'done' | 'dead' | 'retried') => rounded((before[of] + under[of]) / minutes);
  return {
    donePerMinute: rate('done'),
    failedPerMinute: rate('dead'),
    retriedPerMinute: rate('retried'),
    waitP95Ms: quantile(before.waitMs, 0.95) ?? quantile(under.waitMs, 0.95),
  };
}

function tallyOf(rows: readonly MetricRow[]): Tally {
  const all = newTally();
  for (const { tally } of sums(rows).values()) add(all, tally);
  return all;
}

interface Look {
  readonly at: number;
  readonly ready: ReadonlyMap<string, number>;
  readonly beats: ReadonlyMap<string, WorkerBeat>;
}

/** Remembers the looks of the last minute. */
export function differences() {
  const looks: Look[] = [];
  return (queues: readonly QueueStats[], workers: readonly WorkerBeat[], at: number) => {
    const ready = new Map(queues.map((one) => [one.queue, one.ready]));
    const beats = new Map(workers.map((beat) => [beat.id, beat]));
    looks.push({ at, ready, beats });
    while (looks[0]!.at < at - minuteMs) looks.shift();
    const first = looks[0]!;
    const minutes = (at - first.at) / minuteMs;
    return {
      /** By how much the ready jobs of a queue change; `null` at the first look. */
      readyPerMinute: (queue: string): number | null =>
        minutes === 0 ? null : rounded(((ready.get(queue) ?? 0) - (first.ready.get(queue) ?? 0)) / minutes),
      /** Of all workers, as far as their heartbeats say. */
      all: ratesOf([...beats.values()], looks),
    };
  };
}

/** A worker tells sums: what it did is their difference between its oldest heartbeat here and its newest. */
function ratesOf(workers: readonly WorkerBeat[], looks: readonly Look[]): Rates | null {
  const sum = { donePerMinute: 0, failedPerMinute: 0, retriedPerMinute: 0 };
  let isKnown = false;
  for (const { id, seenAt, counts } of workers) {
    const first = looks.find(({ beats }) => beats.has(id))!.beats.get(id)!;
    const minutes = (seenAt - first.seenAt) / minuteMs;
    if (minutes <= 0) continue;
    isKnown = true;
    const dead = (of: WorkerBeat['counts']) => of['dead-lettered'] + of.rejected;
    sum.donePerMinute += (counts.acked - first.counts.acked) / minutes;
    sum.failedPerMinute += (dead(counts) - dead(first.counts)) / minutes;
    sum.retriedPerMinute += (counts.requeued - first.counts.requeued) / minutes;
  }
  if (!isKnown) return null;
  return {
    donePerMinute: rounded(sum.donePerMinute),
    failedPerMinute: rounded(sum.failedPerMinute),
    retriedPerMinute: rounded(sum.retriedPerMinute),
  };
}
