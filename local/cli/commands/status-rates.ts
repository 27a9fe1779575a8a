/** How fast queues move where no numbers are kept: from what two looks differ by. */

import type { QueueStats } from '../../../core/contract/admin.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import type { Rates } from '../../../core/features/metrics/rates.ts';
import { stepMs } from '../../../core/kit/records/metric-steps.ts';

const minuteMs = stepMs.minute;
const rounded = (value: number): number => Math.round(value * 10) / 10;

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
