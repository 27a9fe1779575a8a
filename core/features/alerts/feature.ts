/** What is watched, and who is sent what it finds. */

import { scoped } from '../../kernel/enqueue/backends.ts';
import type { Feature } from '../feature.ts';

export const alerts = {
  chores: [
    {
      // Each worker asks, and the key of the alerts says whose turn it is: apps that share a backend have alerts of their own, and while
      // the key store is away each worker has to tell so. The first look comes soon, to say what cannot be told here.
      name: 'evaluating alerts',
      scope: 'worker',
      everyMs: 60_000,
      firstMs: 1_000,
      onTimer: 'fails',
      for: ({ app }) => app.alerts !== null,
      load({ client, where }) {
        const own = client.app.alerts!;
        return () => own.evaluate(scoped(client), where);
      },
    },
  ],
} satisfies Feature;
