import { checkInteger, checkOptions } from '../base/checks.ts';
import { config } from '../base/errors.ts';

/** When the jobs of a kind are stopped, because they fail anyway. */
export interface Breaker {
  /** So many failed attempts in a row, over all workers, open the breaker. 1 to 100. */
  readonly failures: number;
  /** While it is open no job of the kind begins; then one is tried. 1,000 to a day. */
  readonly openMs: number;
}

const most = { failures: 100, openMs: 86_400_000 };
const least = { failures: 1, openMs: 1_000 };

/** Throws `CONFIG`. */
export function breakerOf(job: string, breaker: Breaker | undefined): Breaker | null {
  if (breaker === undefined) return null;
  const whose = `breaker of job "${job}"`;
  checkOptions(whose, breaker, least);
  for (const name of ['failures', 'openMs'] as const) {
    const value = breaker?.[name];
    checkInteger(`${name} of ${whose}`, value, least[name]);
    if (value > most[name])
      throw config(`Expected ${name} of ${whose} to be at most ${most[name]}, got ${value}.`);
  }
  return { failures: breaker.failures, openMs: breaker.openMs };
}
