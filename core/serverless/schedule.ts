/** Timers of a cloud. One enqueues the jobs of the app's schedules and does chores, once a minute; the other removes what is past its retention. */

import { LongshoreError } from '../base/errors.ts';
import type { LongshoreEvent } from '../base/events.ts';
import { reportingFailures } from '../base/failure.ts';
import { tick } from '../features/schedules/tick.ts';
import { eachOf } from '../kernel/enqueue/backends.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { type Chore, choresOf, purge } from '../kernel/worker/chores.ts';

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
        for (const chore of choresOf(app, one.backend)) await work(chore, one);
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

/** A chore with a longer pause is done in one minute of it. */
async function work({ name, onTimer, everyMs, load, ...chore }: Chore, client: Client): Promise<void> {
  const { clock, events } = client.app;
  if (!onTimer || chore.for?.(client) === false || clock.now() % everyMs >= 60_000) return;
  const host = { id: '', where: 'function', client, queues: [], stopped: () => false } as const;
  const run = async () => (await load(host))();
  if (onTimer === 'fails') await run();
  else await reportingFailures(events, name, [], run, onTimer);
}

/** Of one call, however much there is: the next one goes on. */
const longestMs = 120_000;

export async function purgeOnTimer(client: Client): Promise<void> {
  const { clock } = client.app;
  const until = clock.now() + longestMs;
  await purge({ client, stopped: () => clock.now() >= until });
}
