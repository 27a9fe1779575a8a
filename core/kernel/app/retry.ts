/** Retry policies are data (or one function), so they can be compared, logged and tested without a queue. */

import { config } from '../../base/errors.ts';

/** The longest delay before the next attempt; longer delays are cut to it. */
export const longestDelayMs = 366 * 86_400_000;

export interface Failure {
  /** The number of the failed attempt; 1 = the first. */
  readonly attempt: number;
  readonly error: unknown;
  /** A number in [0, 1), from the app's `random`. */
  readonly random: number;
}

/** Returns the delay before the next attempt in ms, or `null` for "do not retry". */
export interface RetryPolicy {
  (failure: Failure): number | null;
  /** Throws `CONFIG` if the policy does not fit the job. */
  check?(job: string, maxRetries: number): void;
}

/**
 * Waits `baseMs × factor^(attempt − 1)`, varied randomly by ± `jitter` (a fraction, 0 to 1), at most `maxMs`.
 * @param options defaults: baseMs 30_000, factor 2, maxMs 3_600_000, jitter 0.1
 */
export function exponential(
  options: { baseMs?: number; factor?: number; maxMs?: number; jitter?: number } = {},
): RetryPolicy {
  const { baseMs = 30_000, factor = 2, maxMs = 3_600_000, jitter = 0.1 } = options;
  atLeast('baseMs', baseMs, 0);
  atLeast('factor', factor, 1);
  atLeast('maxMs', maxMs, baseMs);
  if (!(jitter >= 0 && jitter <= 1)) throw config(`exponential() expects jitter from 0 to 1, got ${jitter}.`);
  return ({ attempt, random }) => {
    const spread = 1 + jitter * (2 * random - 1);
    // Capped before the spread: factor ** attempt may be Infinity, and 0 × Infinity is not a delay.
    const grown = baseMs === 0 ? 0 : Math.min(maxMs, baseMs * factor ** (attempt - 1));
    return Math.min(Math.floor(maxMs), Math.round(grown * spread));
  };
}

/** The nth retry waits for the nth delay, and further retries for the last one. A job must have at least as many retries as delays. */
export function delays(delaysMs: readonly number[]): RetryPolicy {
  if (delaysMs.length === 0) throw config('delays() expects at least one delay in ms, got an empty list.');
  for (const delayMs of delaysMs) atLeast('every delay', delayMs, 0);
  const count = delaysMs.length;
  const policy: RetryPolicy = ({ attempt }) => delaysMs[Math.min(attempt, count) - 1]!;
  policy.check = (job, maxRetries) => {
    if (count > maxRetries)
      throw config(
        `Job "${job}" has ${count} delays, but maxRetries ${maxRetries}: expected ${count} or more.`,
      );
  };
  return policy;
}

/** The same delay before every retry, in ms. */
export function fixed(delayMs: number): RetryPolicy {
  atLeast('delayMs', delayMs, 0);
  return () => delayMs;
}

/** No retry at all: the first failure is final. */
export const noRetry: RetryPolicy = () => null;

type ErrorClass = abstract new (...args: never[]) => Error;

/** A policy per error class: the first class that matches the error decides. `otherwise` handles all other errors. */
export function perError(
  rules: readonly (readonly [ErrorClass, RetryPolicy])[],
  otherwise: RetryPolicy,
): RetryPolicy {
  return (failure) => {
    const rule = rules.find(([type]) => failure.error instanceof type);
    return (rule ? rule[1] : otherwise)(failure);
  };
}

function atLeast(name: string, value: number, least: number): void {
  if (!(Number.isFinite(value) && value >= least)) {
    throw config(`A retry policy expects ${name} to be ${least} or more, got ${value}.`);
  }
}
