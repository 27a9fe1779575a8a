/** Alerts on queues, jobs and schedules. */

import { scoped } from '../../kernel/enqueue/backends.ts';
import type { Feature } from '../feature.ts';

export const alerts = {
  chores: [
    {
      // Each worker tries, and a key of the alerts chooses one: apps that share a backend have their own alerts, and if the key store is down,
      // each worker must report it. The first evaluation comes soon, to report rules that cannot be evaluated here.
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
