/** How a suite declares and runs its laws. */

import type { Declare, Harness, Lack, OpenOptions, Runner } from './harness.ts';
import { createKit, type Kit } from './kit.ts';

export interface LawOptions extends OpenOptions {
  /** More time passes than a test can wait for: only where the time is the test's own. */
  readonly takesTime?: true;
  /**
   * The record must know what only a queue can tell: that a lease has run out, that a dead letter waits again. A store that
   * stands alone hears of it when the next attempt begins; store-writing.ts has the laws of that.
   */
  readonly knownByQueue?: true;
  /** Says nothing of a queue that is without one of these topics, too. */
  readonly needs?: Lack | readonly Lack[];
}

/** Defines one law: its name says what must hold, `check` proves it on a bench of its own. */
export type Law = (name: string, check: (t: Kit) => Promise<void>, options?: LawOptions) => void;

/** Throws for a runner that cannot skip where one has to. */
export function declarer({ it }: Runner, possible: boolean): Declare {
  const declare = possible ? it : it.skip;
  if (declare) return declare;
  throw new Error(
    'Expected a runner whose `it` has `skip`, got one without. Use that of node:test or vitest.',
  );
}

export function lawsOf(harness: Harness, runner: Runner): Law {
  return (name, check, { knownByQueue, takesTime, needs, ...options } = {}) => {
    if (knownByQueue && harness.storeStandsAlone) return;
    if (harness.lacks?.some((lack) => [needs].flat().includes(lack))) return;
    declarer(runner, harness.timeIsOurs !== false || !takesTime)(name, async () => {
      const bench = await harness.open(options);
      try {
        await check(createKit(bench, harness.patienceMs ?? 0, harness.lacks));
      } finally {
        await bench.close();
      }
    });
  };
}
