/** Hands on what a job has returned: to the next link of its chain, or to the batch that it is a child of. */

import type { RunStep } from './attempt.ts';

export const chained = {
  for: ({ envelope }) => envelope?.chain != null || envelope?.results === true,

  async run(it, next) {
    const { handOn, nextIsUnknown } = await import('../chains/hand-on.ts');
    return nextIsUnknown(it) ?? handOn(it, await next());
  },
} satisfies RunStep;
