/** A token bucket per credential. */

import { checkInteger } from '../../base/checks.ts';
import type { Clock } from '../../base/clock.ts';
import { config, shown } from '../../base/errors.ts';

export interface RateLimit {
  /** Jobs and other requests per second, in the long run. */
  readonly perSecond: number;
  /** How many at once after a quiet time. @default perSecond */
  readonly burst?: number;
}

/** Takes `cost` tokens (never more than the burst) and returns 0, or takes none and returns how many ms to wait. */
export type TakeTokens = (key: string, cost: number) => number;

/** Callers remembered at the same time; the one not seen for longest is forgotten, and starts with a full bucket. */
const mostBuckets = 10_000;

export const burstOf = ({ perSecond, burst = Math.ceil(perSecond) }: RateLimit): number => burst;

export function tokenBuckets(limit: RateLimit | false, clock: Clock): TakeTokens {
  if (limit === false) return () => 0;
  const { perSecond } = limit;
  const burst = burstOf(limit);
  if (!Number.isFinite(perSecond) || perSecond <= 0) {
    throw config(
      `Expected rateLimit.perSecond to be a number above 0, got ${shown(perSecond)}. Use rateLimit: false for none.`,
    );
  }
  checkInteger('rateLimit.burst', burst, 1);
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (key, cost) => {
    const now = clock.now();
    const bucket = buckets.get(key) ?? { tokens: burst, at: now };
    buckets.delete(key); // and back to the end: the map is ordered by last use
    buckets.set(key, bucket);
    if (buckets.size > mostBuckets) buckets.delete(buckets.keys().next().value!);
    const passedMs = Math.max(0, now - bucket.at); // a clock that is set back must not empty the bucket
    bucket.tokens = Math.min(burst, bucket.tokens + (passedMs * perSecond) / 1000);
    bucket.at = now;
    if (bucket.tokens >= cost) {
      bucket.tokens -= cost;
      return 0;
    }
    return Math.ceil(((cost - bucket.tokens) * 1000) / perSecond);
  };
}
