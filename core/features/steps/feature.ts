/** Steps, sleeps and waits of a job, which its next attempt remembers. */

import { door } from '../../base/lazy.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const settling = door(() => import('./settle.ts'));

const remembered: EndStep = {
  for: ({ run }) => run.steps !== null,
  settle: (it, end, next) => settling(({ leave }) => leave(it, end, next)),
};

export const steps = {
  name: 'steps',
  end: { remember: remembered },
  hasBegun: (it) => (it.ports.client.stores.steps ? settling(({ hasSteps }) => hasSteps(it)) : false),
} satisfies Feature;
