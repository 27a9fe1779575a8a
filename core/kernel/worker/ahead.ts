/**
 * How many jobs a worker fetches ahead of its slots. Little's law: the jobs in a place = the rate at which they leave it × the time that each
 * spends there. `slots in use / attempt` jobs leave the buffer per ms, and each should spend a few round trips of a fetch there: the slots then
 * have work until the next jobs arrive. docs/decisions/jobs-ahead-by-littles-law.md has the reasons and measurements.
 */

import type { Run } from '../attempt/run.ts';

/** A job may wait in the buffer for this number of round trips: one is under way, and fewer but larger fetches cost a backend less. */
const roundTrips = 4;
/** Only half of the time that a job may wait is planned for, so that a job twice as slow as the others still begins in time. */
const planned = 0.5;
/** Parts by which a measurement changes its average. */
const attemptPart = 1 / 8;
const fetchPart = 1 / 4;

export interface AheadOptions {
  /** The most jobs. */
  readonly most: number;
  readonly concurrency: number;
  /** How long a job may wait in the buffer. */
  readonly withinMs: number;
}

export type Ahead = ReturnType<typeof measureAhead>;

/** Measures attempts and fetches. All times are of the steady clock. */
export function measureAhead({ most, concurrency, withinMs }: AheadOptions) {
  let attemptMs: number | null = null;
  let inUse = concurrency;
  let fetchMs: number | null = null;

  return {
    /**
     * Called when a handler has ended.
     * @param slots in use while other jobs wait for one: 1 if handlers run one after the other, because they never wait. `null` = no job waits
     */
    attempted(ms: number, slots: number | null): void {
      attemptMs = attemptMs === null ? ms : attemptMs + (ms - attemptMs) * attemptPart;
      if (slots !== null) inUse += (slots - inUse) * attemptPart;
    },
    /** Called when a fetch of `max` jobs has brought `count`. A fetch that has brought few may have waited for them. */
    fetched(ms: number, count: number, max: number): void {
      if (count * 2 < max) return;
      fetchMs = fetchMs === null ? ms : fetchMs + (ms - fetchMs) * fetchPart;
    },
    /** How many jobs may be held ahead now. */
    most(running: Iterable<Run>, now: number): number {
      if (most === 0 || attemptMs === null || fetchMs === null || fetchMs === 0) return 0;
      const waitMs = Math.min(fetchMs * roundTrips, withinMs * planned);
      // A slot whose job takes much longer than the others gives no room in time.
      const longMs = Math.max(withinMs, attemptMs * 4);
      let moving = concurrency;
      for (const run of running) if (now - run.since > longMs) moving--;
      if (moving === 0) return 0;
      return Math.min(most, Math.floor((Math.min(moving, inUse) / attemptMs) * waitMs));
    },
  };
}
