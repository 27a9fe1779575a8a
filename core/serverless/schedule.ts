/** A timer of the cloud's, once a minute: enqueues the jobs of the app's schedules, looks at its alerts and batches, and rolls up numbers. */

import { LongshoreError } from '../base/errors.ts';
import type { LongshoreEvent } from '../base/events.ts';
import { reportingFailures } from '../base/failure.ts';
import { lookAtBatches } from '../features/batches/look.ts';
import { rollUp } from '../features/metrics/roll-up.ts';
import { tick } from '../features/schedules/tick.ts';
import { eachOf, scoped } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';

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
      for (const one of eachOf(client)) {
        await app.alerts?.evaluate(scoped(one), 'function');
        await rollUpNow(one);
        await lookNow(one);
      }
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

async function lookNow(client: Client): Promise<void> {
  if (client.stores.batches)
    await reportingFailures(
      client.app.events,
      'looking at batches',
      [],
      () => lookAtBatches(client),
      'batch',
    );
}

/** One minute of ten: an hour is rolled up once, so the other calls would find nothing to do. */
const rollUpMs = 600_000;

async function rollUpNow({ app, stores }: Client): Promise<void> {
  if (!stores.metrics || app.clock.now() % rollUpMs >= 60_000) return;
  await reportingFailures(app.events, 'rolling up numbers', [], () => rollUp(app, stores), 'metric');
}
