import type { App } from '../../kernel/app/app.ts';
import { keepsSchedules } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

/**
 * Enqueues a job for each time that became due since the last tick, for schedules in code and those created at run time. Returns the ids. A
 * failing schedule emits `schedule.failed` and keeps its cursor, so the next tick retries it; other schedules continue. The due time is part of
 * the idempotency key (`schedule:<name>@<ISO time>`), so repeating a tick that died half-way has one effect.
 *
 * @param now epoch ms. @default the queue's time, if it has one for all hosts; otherwise the app's clock
 */
export async function tick(app: App, client: Client, now?: number): Promise<string[]> {
  // Loaded with the first tick: most processes of an app never tick.
  const { enqueueSchedules, enqueueStored } = await import('./stored/tick.ts');
  const ids = await enqueueSchedules(app, client, now);
  if (!keepsSchedules(client)) return ids;
  return [...ids, ...(await enqueueStored(app, client, now))];
}
