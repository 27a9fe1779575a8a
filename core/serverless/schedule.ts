/** A timer of the cloud's, once a minute: enqueues the jobs of the app's schedules, and looks at its alerts. */

import { LongshoreError } from '../base/errors.ts';
import type { LongshoreEvent } from '../base/events.ts';
import type { Client } from '../enqueue/client.ts';
import { tick } from '../scheduler/tick.ts';

export interface ScheduleResult {
  /** Ids of the new jobs. */
  readonly enqueued: string[];
}

export function createScheduleHandler(client: Client): () => Promise<ScheduleResult> {
  const { app } = client;
  return async () => {
    const failures: Extract<LongshoreEvent, { type: 'schedule.failed' }>[] = [];
    const unsubscribe = app.events.on((event) => {
      if (event.type === 'schedule.failed') failures.push(event);
    });
    try {
      const enqueued = await tick(app, client);
      await app.alerts?.evaluate(client, 'function');
      const [first] = failures;
      // The others have been enqueued. Thrown, so that the cloud's alarms see it.
      if (first) {
        const names = failures.map(({ schedule }) => schedule).join(', ');
        throw new LongshoreError(
          'BACKEND',
          `These schedules failed: ${names}. The first: ${first.error.message}`,
          {
            cause: first.error,
          },
        );
      }
      return { enqueued };
    } finally {
      unsubscribe();
    }
  };
}
