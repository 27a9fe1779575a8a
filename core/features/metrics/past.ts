/** Compares a job with the usual day of its own last 30: the median of them, which a few worse days do not change. */

import { checkNumber } from '../../base/checks.ts';
import type { Flag, PastThresholds } from '../../kernel/app/metric-report.ts';
import { quantile } from './histogram.ts';
import { failedOf, ranOf, type Tally } from './tally.ts';

export function flagsOf(
  now: Tally,
  past: readonly Tally[],
  { slowerTimes = 1.5, failingBy = 0.05, least = 20 }: PastThresholds,
): Flag[] {
  checkNumber('flag.slowerTimes', slowerTimes, 1);
  checkNumber('flag.failingBy', failingBy, 0);
  checkNumber('flag.least', least, 1);
  const days = past.filter((day) => ranOf(day) > 0);
  const ranBefore = days.reduce((sum, day) => sum + ranOf(day), 0);
  if (ranOf(now) < least || ranBefore < Math.max(1, least)) return [];
  const flags: Flag[] = [];
  const slow = { now: p95Of(now), past: median(days.map(p95Of)) };
  // Below a millisecond the clock tells more of itself than of the job.
  if (slow.now > Math.max(1, slow.past) * slowerTimes) flags.push({ kind: 'slower', ...slow });
  const failed = { now: failedShare(now), past: median(days.map(failedShare)) };
  if (failed.now > failed.past + failingBy) flags.push({ kind: 'failing', ...failed });
  return flags;
}

const p95Of = ({ runMs }: Tally): number => quantile(runMs, 0.95) ?? 0;

/** The median; of an even number of values the lower one. @param values at least one */
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]!;

const failedShare = (tally: Tally): number => failedOf(tally) / ranOf(tally);
