/** Hands on what a job has returned: to the next link of its chain, or to the batch that it is a child of. */

import { door } from '../../base/lazy.ts';
import type { RunStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const handing = door(() => import('./hand-on.ts'));

const chained: RunStep = {
  for: ({ envelope }) => !!(envelope?.chain ?? envelope?.results),
  run: (it, next) => handing(({ handOn }) => handOn(it, next)),
};

export const chains = { name: 'chains', run: { 'hand on': chained } } satisfies Feature;
