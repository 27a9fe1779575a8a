/** The types of `metrics()`: request and report. */

import type { UnavailableBackend } from '../../base/failure.ts';
import type { MetricStep } from '../../contract/derived/metrics.ts';

/** The ways in which an attempt can end. */
export const ends = [
  'done',
  /** Not run: its idempotency key was already completed. */
  'skipped',
  /** Failed, and will be retried. */
  'retried',
  /** Released without spending an attempt: a shutdown, a busy key, a snooze. */
  'released',
  /** Failed for good, or refused. */
  'dead',
  'cancelled',
  /** The lease was lost, so the attempt settled nothing. */
  'lost',
] as const;
export type AttemptEnding = (typeof ends)[number];

export type MetricPeriod = 'hour' | 'day' | 'month';

export interface MetricRequest {
  /** The last 60 minutes, 24 hours or 30 days, including the current minute, hour or day. @default 'hour' */
  readonly last?: MetricPeriod;
  readonly queue?: string;
  readonly job?: string;
  /** When a job counts as slower, or failing more, than in its own last 30 days. */
  readonly flag?: PastThresholds;
}

/** In ms. A quantile is off by at most 5 %. */
export interface Durations {
  readonly average: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Attempts by how they ended. */
export interface JobNumbers extends Readonly<Record<AttemptEnding, number>> {
  /** The share of attempts that ran and did not fail, 0 to 1; `null` = none ran. */
  readonly successRate: number | null;
  /** How long attempts ran; `null` = none ran. */
  readonly runMs: Durations | null;
  readonly waitMs: Durations | null;
  /** Bytes: how much the process grew during an attempt (a sample is measured), or how much memory the isolate took. */
  readonly memory: { readonly average: number; readonly max: number } | null;
  /** When the last attempt ended, epoch ms. */
  readonly lastAt: number | null;
}

export interface MetricPoint extends JobNumbers {
  /** The start of this step, epoch ms. */
  readonly at: number;
}

export interface JobReport extends JobNumbers {
  readonly queue: string;
  /** Empty for messages of unknown jobs. */
  readonly job: string;
  /** How the job is worse than in its own past. */
  readonly flags: readonly Flag[];
}

export interface MetricReport {
  readonly step: MetricStep;
  readonly from: number;
  readonly to: number;
  readonly all: JobNumbers;
  /** Every step of the period, even if nothing ran in it. */
  readonly series: readonly MetricPoint[];
  /** Most attempts first. */
  readonly jobs: readonly JobReport[];
  /** Backends that did not answer and are not counted; absent if all have answered. */
  readonly unavailable?: readonly UnavailableBackend[];
}

export interface PastThresholds {
  /** `slower`: the p95 is more than this many times the past p95. @default 1.5 */
  readonly slowerTimes?: number;
  /** `failing`: the share of failed attempts has grown by more than this. @default 0.05 */
  readonly failingBy?: number;
  /** No flag with fewer attempts than this, now or in the past. @default 20 */
  readonly least?: number;
}

export interface Flag {
  readonly kind: 'slower' | 'failing';
  /** The p95 in ms, or the share of failed attempts. */
  readonly now: number;
  readonly past: number;
}
