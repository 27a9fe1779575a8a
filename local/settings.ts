/** Whether the service's own settings of the queues fit the jobs of an app. */

import type { App } from '../core/app/app.ts';
import type { QueueNeeds } from '../core/contract/admin.ts';
import type { QueueBackend } from '../core/contract/queue.ts';

/** As `QueueAdmin.check`; `null` where there are no such settings. */
export async function checkSettings(app: App, { admin }: QueueBackend): Promise<readonly string[] | null> {
  const jobs = [...app.jobs.values()];
  const needsOf = (queue: string): QueueNeeds => {
    const own = jobs.filter((job) => job.queue === queue);
    return {
      maxRetries: Math.max(0, ...own.map(({ maxRetries }) => maxRetries)),
      timeoutMs: Math.max(0, ...own.map(({ timeoutMs }) => timeoutMs)),
    };
  };
  return (await admin?.check?.(needsOf)) ?? null;
}
