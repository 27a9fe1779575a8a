/** The counts of attempts of one job in one queue and step, as they are added up and stored. */

import type { Outcome } from '../../base/events.ts';
import type { AbandonReason } from '../../contract/outcome.ts';
import { type AttemptEnding, ends } from '../../kernel/app/metric-report.ts';
import {
  addHistogram,
  type Histogram,
  newHistogram,
  observe,
  packHistogram,
  unpackHistogram,
} from './histogram.ts';

export interface Tally extends Record<AttemptEnding, number> {
  /** Durations of attempts that ran. */
  readonly runMs: Histogram;
  /** Time from ready to the start of the first attempt. */
  readonly waitMs: Histogram;
  /** Bytes, of the attempts that were measured. */
  memory: { count: number; sum: number; max: number };
  /** When the last attempt ended, epoch ms. */
  lastAt: number;
}

export const newTally = (): Tally => ({
  done: 0,
  skipped: 0,
  retried: 0,
  released: 0,
  dead: 0,
  cancelled: 0,
  lost: 0,
  runMs: newHistogram(),
  waitMs: newHistogram(),
  memory: { count: 0, sum: 0, max: 0 },
  lastAt: 0,
});

/** The facts of an attempt that are counted. */
export interface Counted {
  /** `null` = not known here. */
  readonly job: string | null;
  readonly outcome: Outcome;
  readonly settled: boolean;
  readonly counted: boolean;
  readonly reason: AbandonReason | null;
  readonly durationMs: number;
  readonly waitMs: number | null;
  /** Memory of its isolate; `null` = it ran in the worker. */
  readonly memoryBytes: number | null;
}

export function count(tally: Tally, result: Counted, at: number): void {
  const ending = endingOf(result);
  tally[ending]++;
  tally.lastAt = at;
  if (
    ending === 'done' ||
    ending === 'retried' ||
    (ending === 'dead' && result.outcome === 'dead-lettered')
  ) {
    observe(tally.runMs, result.durationMs);
  }
  if (result.memoryBytes !== null) countMemory(tally, result.memoryBytes);
  if (result.waitMs !== null && ending !== 'released') observe(tally.waitMs, result.waitMs);
}

type Ended = Pick<Counted, 'outcome' | 'settled' | 'counted'> & { readonly reason: string | null };

export function endingOf({ outcome, settled, counted, reason }: Ended): AttemptEnding {
  if (!settled) return 'lost';
  switch (outcome) {
    case 'acked':
      return 'done';
    case 'skipped-idempotent':
      return 'skipped';
    case 'requeued':
      return counted ? 'retried' : 'released';
    default:
      return reason === 'cancelled' ? 'cancelled' : 'dead';
  }
}

/** @param bytes growth of the process, or memory of an isolate; a decrease counts as 0 */
export function countMemory({ memory }: Tally, bytes: number): void {
  const grown = Math.max(0, bytes);
  memory.count++;
  memory.sum += grown;
  memory.max = Math.max(memory.max, grown);
}

export function add(to: Tally, other: Tally): void {
  for (const end of ends) to[end] += other[end];
  addHistogram(to.runMs, other.runMs);
  addHistogram(to.waitMs, other.waitMs);
  to.memory.count += other.memory.count;
  to.memory.sum += other.memory.sum;
  to.memory.max = Math.max(to.memory.max, other.memory.max);
  to.lastAt = Math.max(to.lastAt, other.lastAt);
}

/** Adds up several jobs. */
export function sumOf(parts: Iterable<{ readonly tally: Tally }>): Tally {
  const sum = newTally();
  for (const { tally } of parts) add(sum, tally);
  return sum;
}

/** The attempts that ran: the base of the failure ratio. */
export const ranOf = ({ done, retried, dead }: Tally): number => done + retried + dead;
export const failedOf = ({ retried, dead }: Tally): number => retried + dead;

/** `v` is first, so that a later version can recognise this format. */
export function packTally(tally: Tally): string {
  const { runMs, waitMs, memory, lastAt } = tally;
  return JSON.stringify({
    v: 1,
    ends: ends.map((end) => tally[end]),
    runMs: packHistogram(runMs),
    waitMs: packHistogram(waitMs),
    memory: [memory.count, memory.sum, memory.max],
    lastAt,
  });
}

/** `null` for a text that this version cannot read: numbers of a newer one must not break a page. */
export function unpackTally(body: string): Tally | null {
  try {
    const { v, ...stored } = JSON.parse(body) as Stored & { v: unknown };
    if (v !== 1) return null;
    const tally = newTally();
    for (const [i, end] of ends.entries()) tally[end] = stored.ends[i] ?? 0;
    const [count = 0, sum = 0, max = 0] = stored.memory;
    const { runMs, waitMs, lastAt } = stored;
    return {
      ...tally,
      runMs: unpackHistogram(runMs),
      waitMs: unpackHistogram(waitMs),
      memory: { count, sum, max },
      lastAt,
    };
  } catch {
    return null;
  }
}

type Stored = Readonly<Record<'ends' | 'runMs' | 'waitMs' | 'memory', readonly number[]>> & {
  readonly lastAt: number;
};
