/** Random sequences of operations, as many as the run has time for. */

import { describe, inject, it } from 'vitest';
import type { Harness } from '../testing/laws/harness.ts';
import { describeModel } from '../testing/laws/model.ts';
import { describeLimitModel } from '../testing/laws/model-limits.ts';

/** So that a server that answers slowly, on a busy machine, is not taken for one that hangs. */
const longestMs = 600_000;

/** @param share how many of the usual number, for a backend of which each takes long */
export function describeSequences(name: string, harness: Harness, share = 1): void {
  const sequences = Math.round(inject('sequences') * share);
  const runner = {
    describe,
    it: (law: string, body: () => Promise<void>) => it(law, body, longestMs),
  };
  describeModel(name, harness, runner, { sequences });
  // Their steps are slower than those of a queue, and they need no storage of their own.
  if (!harness.lacks?.includes('limits'))
    describeLimitModel(name, harness, runner, Math.ceil(sequences / 10));
}
