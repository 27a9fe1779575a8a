/** Numbers of attempts: how many, how they ended, how long they took. */

import { door } from '../../base/lazy.ts';
import type { Feature } from '../feature.ts';
import { collectorOf } from './collector.ts';

const code = door(() => import('./door.ts'));

export const metrics = {
  counter: collectorOf,
  chores: [
    {
      name: 'rolling up numbers',
      scope: 'backend',
      everyMs: 600_000,
      onTimer: 'metric',
      for: ({ stores }) => stores.metrics !== undefined,
      load: ({ client: { app, stores } }) =>
        code(
          ({ rollUp }) =>
            () =>
              rollUp(app, stores),
        ),
    },
  ],
  client: (client) => ({
    metrics: async (request) => code(({ metricsOf }) => metricsOf(client, request)),
  }),
} satisfies Feature;
