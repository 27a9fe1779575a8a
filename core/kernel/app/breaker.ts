import { checkOptions } from '../../base/checks.ts';
import { config } from '../../base/errors.ts';

/** When the jobs of a kind are stopped, because they fail anyway. */
export interface Breaker {
  /** This number of failed attempts in a row, across all workers, opens the breaker. 1 to 100. */
  readonly failures: number;
  /** While it is open no job of the kind begins; then one is tried. 1,000 to 86,400,000. */
  readonly openMs: number;
}

/** Jobs of one name, of which none begins. */
export interface StoppedJob {
  readonly job: string;
  /** By a person, or by its breaker: none begins until `until`, or one is being tried. */
  readonly state: 'paused' | 'open' | 'trying';
  /** Epoch ms; `null` = until it is resumed, or until one has succeeded. */
  readonly until: number | null;
  /** Attempts that failed in a row. */
  readonly failures: number;
  /** Jobs that have asked, and wait. Others of the kind may be in the queue. */
  readonly waiting: number;
}

/** Throws `CONFIG`. */
export function breakerOf(job: string, breaker: Breaker | undefined): Breaker | null {
  if (breaker == null) return null;
  const whose = `breaker of "${job}"`;
  // One that is missing is too small.
  checkOptions(
    whose,
    { failures: 0, openMs: 0, ...(breaker as Partial<Breaker>) },
    { failures: 1, openMs: 1_000 },
  );
  if (breaker.failures > 100 || breaker.openMs > 86_400_000)
    throw config(`Over 100 failures or a day in ${whose}.`);
  return breaker;
}
