/** Numbers of attempts by minute, hour and day. */

import { door } from '../../base/lazy.ts';
import type { Feature } from '../feature.ts';

const rollingUp = door(() => import('./roll-up.ts'));

export const metrics: Feature = {
  name: 'metrics',
  chores: [
    {
      name: 'rolling up numbers',
      scope: 'backend',
      everyMs: 600_000,
      for: ({ stores }) => stores.metrics !== undefined,
      load: ({ client: { app, stores } }) =>
        rollingUp(
          ({ rollUp }) =>
            () =>
              rollUp(app, stores),
        ),
    },
  ],
};
