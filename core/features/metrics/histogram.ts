/**
 * Durations as counts in buckets whose edges grow by a tenth. Two histograms can be added without loss, so each worker counts for itself. A
 * quantile is off by 4.8 % at most (Masson, Rim, Lee: DDSketch, VLDB 2019, section 2).
 */

const growth = 1.1;
const perLog = 1 / Math.log(growth);

export interface Histogram {
  count: number;
  sum: number;
  max: number;
  /** Bucket n > 0 holds durations above growth^(n-2) ms and up to growth^(n-1) ms; bucket 0 holds durations below the clock's resolution. */
  readonly buckets: Map<number, number>;
}

export const newHistogram = (): Histogram => ({ count: 0, sum: 0, max: 0, buckets: new Map() });

const bucketOf = (ms: number): number => (ms < 1 ? 0 : 1 + Math.ceil(Math.log(ms) * perLog));

/** @param ms 0 or more */
export function observe(histogram: Histogram, ms: number): void {
  const bucket = bucketOf(ms);
  histogram.count++;
  histogram.sum += ms;
  if (ms > histogram.max) histogram.max = ms;
  histogram.buckets.set(bucket, (histogram.buckets.get(bucket) ?? 0) + 1);
}

export function addHistogram(to: Histogram, other: Histogram): void {
  to.count += other.count;
  to.sum += other.sum;
  to.max = Math.max(to.max, other.max);
  for (const [bucket, count] of other.buckets) to.buckets.set(bucket, (to.buckets.get(bucket) ?? 0) + count);
}

/** The `q` quantile in ms; `null` = the histogram is empty. */
export function quantile({ count, max, buckets }: Histogram, q: number): number | null {
  if (count === 0) return null;
  let left = Math.max(1, Math.ceil(q * count));
  for (const [bucket, n] of [...buckets].sort(([a], [b]) => a - b)) {
    left -= n;
    if (left <= 0) return Math.min(max, middleOf(bucket));
  }
  return max;
}

/** The value with the same relative distance to both edges. */
const middleOf = (bucket: number): number => (bucket === 0 ? 0 : (2 * growth ** (bucket - 1)) / (1 + growth));

/** The stored form: `[count, sum, max, bucket, n, bucket, n, …]`. */
export const packHistogram = ({ count, sum, max, buckets }: Histogram): number[] => [
  count,
  sum,
  max,
  ...[...buckets].flat(),
];

export function unpackHistogram([count = 0, sum = 0, max = 0, ...flat]: readonly number[]): Histogram {
  const buckets = new Map<number, number>();
  for (let i = 0; i + 1 < flat.length; i += 2) buckets.set(flat[i]!, flat[i + 1]!);
  return { count, sum, max, buckets };
}
