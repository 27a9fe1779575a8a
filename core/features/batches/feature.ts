/** Jobs that belong together, and the jobs that are called when they have ended. */

import { door } from '../../base/lazy.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const counting = door(() => import('./attempt.ts'));
const look = door(() => import('./look.ts'));

const counted: EndStep = {
  for: ({ envelope, ports }) =>
    envelope?.identifier.startsWith('batch.') === true && ports.client.stores.batches !== undefined,
  settle: (it, end, next) => counting(({ markEnd }) => markEnd(it, end, next)),
};

export const batches = {
  name: 'batches',
  end: { count: counted },
  chores: [
    {
      name: 'looking at batches',
      scope: 'backend',
      everyMs: 60_000,
      for: ({ stores }) => stores.batches !== undefined,
      load: ({ client }) =>
        look(
          ({ lookAtBatches }) =>
            () =>
              lookAtBatches(client),
        ),
    },
  ],
} satisfies Feature;
