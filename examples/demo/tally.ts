/** Counts what the app's events say. */

import type { LongshoreEvent } from '../../core/index.ts';
import { lineOf } from './lines.ts';
import type { Expected } from './story.ts';

export type Outcomes = Expected['outcomes'];

export interface Moment {
  readonly atMs: number;
  readonly event: LongshoreEvent;
}

export interface Tally {
  readonly outcomes: Readonly<Outcomes>;
  /** Jobs that ended for good, by name; a forged message has no job and counts under ''. */
  ended(job: string): number;
  endedInAll(): number;
  /** How often the schedule fired. */
  readonly scheduled: number;
  readonly lastEventAt: number;
  /** First start and last end of a job, epoch ms. */
  span(job: string): { readonly from: number; readonly to: number } | null;
  /** The latest events that are worth a line. */
  readonly recent: readonly Moment[];
  listener(event: LongshoreEvent): void;
}

const recentKept = 12;

export function createTally(startedAt: number): Tally {
  const outcomes = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
  const ended = new Map<string, number>();
  const spans = new Map<string, { from: number; to: number }>();
  const recent: Moment[] = [];
  let scheduled = 0;
  let endedInAll = 0;
  let lastEventAt = startedAt;

  function count(event: LongshoreEvent, now: number): void {
    if (event.type === 'schedule.enqueued') scheduled++;
    if (event.type === 'job.started' && !spans.has(event.job)) spans.set(event.job, { from: now, to: now });
    if (event.type !== 'job.settled' || !event.settled) return;
    if (event.outcome === 'requeued' && event.error === null) return; // it waits, and nothing has failed
    outcomes[event.outcome]++;
    if (event.outcome === 'requeued') return;
    ended.set(event.job, (ended.get(event.job) ?? 0) + 1);
    endedInAll++;
    const span = spans.get(event.job);
    if (span) span.to = now;
  }

  return {
    outcomes,
    recent,
    ended: (job) => ended.get(job) ?? 0,
    endedInAll: () => endedInAll,
    get scheduled() {
      return scheduled;
    },
    get lastEventAt() {
      return lastEventAt;
    },
    span: (job) => spans.get(job) ?? null,
    listener(event) {
      lastEventAt = Date.now();
      count(event, lastEventAt);
      if (!lineOf(event)?.notable) return;
      recent.push({ atMs: lastEventAt - startedAt, event });
      if (recent.length > recentKept) recent.shift();
    },
  };
}

/** Nothing is left to happen: every job ended, retries included, and so did each run of the schedule that fired. */
export function isComplete(tally: Tally, expected: Expected, scheduledJob: string): boolean {
  const { requeued: _, ...finals } = expected.outcomes;
  const wanted = Object.values(finals).reduce((sum, n) => sum + n, 0);
  const reports = tally.ended(scheduledJob);
  return tally.endedInAll() - reports >= wanted && tally.scheduled > 0 && reports >= tally.scheduled;
}
