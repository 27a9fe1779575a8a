import type { App } from '../../kernel/app/app.ts';
import { keepsSchedules } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

/**
 * Enqueues a job for each moment since the last tick, of the schedules in code and of those made at run time; returns the ids. A failing schedule emits `schedule.failed` and
 * keeps its cursor, so the next tick tries again; the others go on. The moment itself is the idempotency key
 * (`schedule:<name>@<ISO time>`), so a tick that dies half-way and is repeated has one effect.
 *
 * @param now epoch ms. @default the queue's time, where it has one for all hosts; else that of the app's clock
 */
export async function tick(app: App, client: Client, now?: number): Promise<string[]> {
  // Loaded with the first tick: most processes of an app have none.
  const { enqueueSchedules, enqueueStored } = await import('./stored/tick.ts');
  const ids = await enqueueSchedules(app, client, now);
  if (!keepsSchedules(client)) return ids;
  return [...ids, ...(await enqueueStored(app, client, now))];
}
