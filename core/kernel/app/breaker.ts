import { checkOptions } from '../../base/checks.ts';
import { config } from '../../base/errors.ts';

/** Stops the jobs of one name while they keep failing. */
export interface Breaker {
  /** The breaker opens after this number of failed attempts in a row, across all workers. 1 to 100. */
  readonly failures: number;
  /** While the breaker is open no job of this name starts; afterwards one job is tried. ms, 1,000 to 86,400,000. */
  readonly openMs: number;
}

/** A job name that is paused or whose breaker is open. */
export interface StoppedJob {
  readonly job: string;
  /** `paused` by a person; `open`: the breaker lets none start until `until`; `trying`: one job is being tried. */
  readonly state: 'paused' | 'open' | 'trying';
  /** Epoch ms; `null` = until it is resumed, or until the tried job has succeeded. */
  readonly until: number | null;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** Jobs that a worker has taken and put back to wait. More jobs of this name may be in the queue. */
  readonly waiting: number;
}

/** Throws `CONFIG`. */
export function breakerOf(job: string, breaker: Breaker | undefined): Breaker | null {
  if (breaker == null) return null;
  const whose = `breaker of "${job}"`;
  // A missing member becomes 0, which the check refuses.
  checkOptions(
    whose,
    { failures: 0, openMs: 0, ...(breaker as Partial<Breaker>) },
    { failures: 1, openMs: 1_000 },
  );
  if (breaker.failures > 100 || breaker.openMs > 86_400_000)
    throw config(
      `Expected at most 100 failures and an openMs of at most 86400000 in ${whose}, got ${breaker.failures} and ${breaker.openMs}.`,
    );
  return breaker;
}
