/** Hands on what a job has returned: to the next link of its chain, or to the batch that it is a child of. */

import type { RunStep } from './attempt.ts';

export const chained = {
  for: ({ envelope }) => !!(envelope?.chain ?? envelope?.results),
  run: async (it, next) => (await import('../../features/chains/hand-on.ts')).handOn(it, next),
} satisfies RunStep;
