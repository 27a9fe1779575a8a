/** Time steps, and how long their metrics are kept. */

import type { MetricStep } from '../../contract/derived/metrics.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const stepMs: Readonly<Record<MetricStep, number>> = { minute: 60_000, hour: hourMs, day: dayMs };

/** Minutes are kept for less once they are rolled up. Without a worker to do that, they last a weekend. */
export const keepMs: Readonly<Record<MetricStep, number>> = {
  minute: 3 * dayMs,
  hour: 40 * dayMs,
  day: 400 * dayMs,
};

/** For minutes that are rolled up into their hour. The last full hour is still read by the minute. */
export const keepRolledUpMs = 3 * hourMs;

/** The beginning of the step that contains this moment. Days begin at midnight UTC. */
export const stepOf = (step: MetricStep, at: number): number => at - (at % stepMs[step]);
