/** The numbers of jobs, as they are asked for and answered. */

import type { MetricStep } from '../../contract/derived/metrics.ts';

/** Ways in which an attempt can end, as people count them. */
export const ends = [
  'done',
  /** Not run: its idempotency key was done already. */
  'skipped',
  /** Failed, to be tried again. */
  'retried',
  /** Given back without an attempt being spent: a shutdown, a busy key, a snooze. */
  'released',
  /** Failed for good, or refused. */
  'dead',
  'cancelled',
  /** The lease was lost, so its end changed nothing. */
  'lost',
] as const;
export type AttemptEnding = (typeof ends)[number];

export type MetricPeriod = 'hour' | 'day' | 'month';

export interface MetricRequest {
  /** 60 minutes, 24 hours or 30 days, the step under way included. @default 'hour' */
  readonly last?: MetricPeriod;
  readonly queue?: string;
  readonly job?: string;
  /** When a job counts as slower or failing more than in its own last 30 days. */
  readonly flag?: PastThresholds;
}

/** ms; a quantile is off by 5 % at most. */
export interface Durations {
  readonly average: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Attempts by how they ended. */
export interface JobNumbers extends Readonly<Record<AttemptEnding, number>> {
  /** Share of the attempts that ran and did not fail, 0 to 1; `null` without any. */
  readonly successRate: number | null;
  /** `null` when none ran. */
  readonly runMs: Durations | null;
  readonly waitMs: Durations | null;
  /** Bytes: by how much the process grew while an attempt ran, of which some are measured; or what its isolate took. */
  readonly memory: { readonly average: number; readonly max: number } | null;
  /** Epoch ms. */
  readonly lastAt: number | null;
}

export interface MetricPoint extends JobNumbers {
  /** When this step began, epoch ms. */
  readonly at: number;
}

export interface JobReport extends JobNumbers {
  readonly queue: string;
  /** Empty for messages whose job is not known here. */
  readonly job: string;
  /** Jobs that are worse than in their own past. */
  readonly flags: readonly Flag[];
}

export interface MetricReport {
  readonly step: MetricStep;
  readonly from: number;
  readonly to: number;
  readonly all: JobNumbers;
  /** Each step of the period, also those in which nothing ran. */
  readonly series: readonly MetricPoint[];
  /** Most attempts first. */
  readonly jobs: readonly JobReport[];
}

export interface PastThresholds {
  /** A job is slower if its p95 is more than this many times its past p95. @default 1.5 */
  readonly slowerTimes?: number;
  /** Failing: the share of its failed attempts is higher by more than this. @default 0.05 */
  readonly failingBy?: number;
  /** Fewer attempts than these, now or in the past, say nothing. @default 20 */
  readonly least?: number;
}

export interface Flag {
  readonly kind: 'slower' | 'failing';
  /** p95 in ms, or the share of failed attempts. */
  readonly now: number;
  readonly past: number;
}
