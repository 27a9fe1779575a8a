/** Schedules in code, and schedules created at run time. */

import { door, verbsOf } from '../../base/lazy.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Schedules } from '../../kernel/app/stored-schedule.ts';
import { keepsSchedules } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./door.ts'));

const verbs = ['upsert', 'get', 'list', 'remove', 'pause', 'resume', 'runNow'] as const;

export const schedulesOf = (client: () => Client): Schedules =>
  verbsOf<Schedules>(verbs, async () => code(({ storedVerbs }) => storedVerbs(client())));

export const schedules = {
  client: (client) => ({ schedules: schedulesOf(() => client) }),
} satisfies Feature;

/**
 * Enqueues a job for each time that became due since the last tick, for schedules in code and those created at run time. Returns the ids. A
 * failing schedule emits `schedule.failed` and keeps its cursor, so the next tick retries it; other schedules continue. The due time is part of
 * the idempotency key (`schedule:<name>@<ISO time>`), so repeating a tick that died half-way has one effect.
 *
 * @param now epoch ms. @default the queue's time, if it has one for all hosts; otherwise the app's clock
 */
export async function tick(app: App, client: Client, now?: number): Promise<string[]> {
  return code(async ({ enqueueSchedules, enqueueStored }) => {
    const ids = await enqueueSchedules(app, client, now);
    return keepsSchedules(client) ? [...ids, ...(await enqueueStored(app, client, now))] : ids;
  });
}
