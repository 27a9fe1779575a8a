/**
 * Adds minutes up to hours and hours to days, once across all hosts. The sum of a step is made from all of its parts and overwrites the old one,
 * so a roll-up that dies half-way can be repeated.
 */

import type { MetricRow, MetricStep, MetricStore } from '../../contract/derived/metrics.ts';
import type { Stores } from '../../contract/store.ts';
import type { App } from '../../kernel/app/app.ts';
import { keepMs, keepRolledUpMs, stepMs, stepOf } from '../../kit/records/metric-steps.ts';
import { add, packTally, type Tally, unpackTally } from './tally.ts';

const cursorKey = 'metrics:roll-up';
const holdMs = 60_000;
/** After this time a call starts no further step: its progress must be stored while the hold lasts. The next call continues. */
const longestMs = 20_000;
/** A worker writes the last counts of a minute this much later at most. The clocks of hosts may differ by as much. */
const settledAfterMs = 120_000;
/** The most steps of a kind that one call rolls up; more than the hours that minutes are kept. */
const mostSteps = 100;
/** Calls of `purge` for a step, each of them bounded by the store. */
const mostPurges = 100;
const keepCursorMs = 400 * 86_400_000;

interface Cursor {
  /** Hours and days that began before this are done. */
  readonly hour: number;
  readonly day: number;
}

/** Rolls up finished steps, and removes expired ones. Does nothing while another host is doing it. */
export async function rollUp({ clock, newId }: Pick<App, 'clock' | 'newId'>, stores: Stores): Promise<void> {
  const { metrics, keys } = stores;
  if (!metrics) return;
  const now = clock.now();
  const owner = newId();
  const claim = await keys.claim(cursorKey, owner, now + holdMs);
  if (claim.state !== 'claimed') return;
  let isNoted = false;
  const isTime = () => clock.now() - now < longestMs;
  let cursor: Cursor = claim.value === null ? firstCursor(now) : JSON.parse(claim.value);
  try {
    cursor = { ...cursor, hour: await advance(metrics, 'minute', 'hour', cursor.hour, now, isTime) };
    // A day is the sum of hours, so use only finished hours.
    const until = Math.min(now, cursor.hour + settledAfterMs);
    cursor = { ...cursor, day: await advance(metrics, 'hour', 'day', cursor.day, until, isTime) };
  } finally {
    const keep = { value: JSON.stringify(cursor), keepUntil: now + keepCursorMs };
    isNoted = await keys.release(cursorKey, owner, keep);
  }
  // An hour that must be rolled up again needs all of its minutes.
  if (isNoted) await removePast(metrics, cursor, now);
}

/** Workers may have written minutes before. */
const firstCursor = (now: number): Cursor => ({
  hour: stepOf('hour', now - keepMs.minute) + stepMs.hour,
  day: stepOf('day', now - keepMs.minute),
});

/** Returns the start of the first step that is not done. */
async function advance(
  metrics: MetricStore,
  from: MetricStep,
  to: MetricStep,
  doneBefore: number,
  now: number,
  isTime: () => boolean,
): Promise<number> {
  const length = stepMs[to];
  const last = Math.min(stepOf(to, now - settledAfterMs), doneBefore + mostSteps * length);
  let at = doneBefore;
  for (; at < last && isTime(); at += length) {
    const parts = await metrics.read({ step: from, from: at, to: at + length });
    if (parts.length > 0) await metrics.write(rowsOf(sums(parts), to, at));
  }
  return at;
}

export type Sums = Map<string, { readonly queue: string; readonly job: string; readonly tally: Tally }>;

/** Adds up rows by queue and job. */
export function sums(rows: readonly MetricRow[]): Sums {
  const all: Sums = new Map();
  for (const { queue, job, body } of rows) {
    const tally = unpackTally(body);
    if (!tally) continue;
    const key = JSON.stringify([queue, job]);
    const sum = all.get(key);
    if (sum) add(sum.tally, tally);
    else all.set(key, { queue, job, tally });
  }
  return all;
}

const rowsOf = (all: Sums, step: MetricStep, at: number): MetricRow[] =>
  [...all.values()].map(({ queue, job, tally }) => ({
    step,
    at,
    queue,
    job,
    source: '',
    body: packTally(tally),
  }));

async function removePast(metrics: MetricStore, { hour }: Cursor, now: number): Promise<void> {
  const minutes = Math.max(now - keepMs.minute, Math.min(hour, now - keepRolledUpMs));
  const past = { minute: minutes, hour: now - keepMs.hour, day: now - keepMs.day };
  for (const step of ['minute', 'hour', 'day'] as const) {
    for (let i = 0; i < mostPurges && (await metrics.purge(step, past[step])) > 0; i++);
  }
}
