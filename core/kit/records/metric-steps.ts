/** Steps of time, and how long their numbers are kept. */

import type { MetricStep } from '../../contract/derived/metrics.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export const stepMs: Readonly<Record<MetricStep, number>> = { minute: 60_000, hour: hourMs, day: dayMs };

/** Minutes are kept for less once they are part of their hour; a weekend without a worker to do that loses none. */
export const keepMs: Readonly<Record<MetricStep, number>> = {
  minute: 3 * dayMs,
  hour: 40 * dayMs,
  day: 400 * dayMs,
};

/** Minutes that are part of their hour. The hour before this one is read by the minute. */
export const keepRolledUpMs = 3 * hourMs;

/** When the step that holds this moment began. Epoch days begin at midnight UTC. */
export const stepOf = (step: MetricStep, at: number): number => at - (at % stepMs[step]);
