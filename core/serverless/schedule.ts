/** Handlers for cloud timers. The first, once a minute, enqueues due schedules and does chores. The second deletes records whose retention is over. */

import { LongshoreError } from '../base/errors.ts';
import type { LongshoreEvent } from '../base/events.ts';
import { reportingFailures } from '../base/failure.ts';
import { tick } from '../features/schedules/feature.ts';
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
      // Thrown after the other schedules were enqueued, so that the cloud's alarms see the failure.
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

/** Does the chore. If its pause is longer than a minute, only one call per pause does it. */
async function work({ name, onTimer, everyMs, load, ...chore }: Chore, client: Client): Promise<void> {
  const { clock, events } = client.app;
  if (!onTimer || chore.for?.(client) === false || clock.now() % everyMs >= 60_000) return;
  const host = { id: '', where: 'function', client, queues: [], stopped: () => false } as const;
  const run = async () => (await load(host))();
  if (onTimer === 'fails') await run();
  else await reportingFailures(events, name, [], run, onTimer);
}

/** The longest time that one call deletes; the next call continues. */
const longestMs = 120_000;

export async function purgeOnTimer(client: Client): Promise<void> {
  const { clock } = client.app;
  const until = clock.now() + longestMs;
  await purge({ client, stopped: () => clock.now() >= until });
}
