/** Compares a job with its own last 30 days. */

import { checkNumber } from '../base/checks.ts';
import { quantile } from './histogram.ts';
import type { Flag, PastThresholds } from './report.ts';
import { failedOf, ranOf, type Tally } from './tally.ts';

export function flagsOf(
  now: Tally,
  past: Tally | null,
  { slowerTimes = 1.5, failingBy = 0.05, least = 20 }: PastThresholds,
): Flag[] {
  checkNumber('flag.slowerTimes', slowerTimes, 1);
  checkNumber('flag.failingBy', failingBy, 0);
  checkNumber('flag.least', least, 1);
  if (!past || ranOf(now) < least || ranOf(past) < least) return [];
  const flags: Flag[] = [];
  const slow = { now: quantile(now.runMs, 0.95) ?? 0, past: quantile(past.runMs, 0.95) ?? 0 };
  // Below a millisecond the clock tells more of itself than of the job.
  if (slow.now > Math.max(1, slow.past) * slowerTimes) flags.push({ kind: 'slower', ...slow });
  const failed = { now: failedShare(now), past: failedShare(past) };
  if (failed.now > failed.past + failingBy) flags.push({ kind: 'failing', ...failed });
  return flags;
}

const failedShare = (tally: Tally): number => failedOf(tally) / ranOf(tally);
