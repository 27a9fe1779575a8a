/** Checks that the queue settings at the service fit the jobs of an app. */

import type { QueueNeeds } from '../core/contract/diagnosis.ts';
import type { QueueBackend } from '../core/contract/queue.ts';
import type { App } from '../core/kernel/app/app.ts';

/** Like `QueueAdmin.check`; `null` = the backend has no such settings. */
export async function checkSettings(app: App, { admin }: QueueBackend): Promise<readonly string[] | null> {
  return (await admin?.check?.(needsOfQueues(app))) ?? null;
}

export function needsOfQueues({ jobs }: Pick<App, 'jobs'>): (queue: string) => QueueNeeds {
  return (queue) => {
    const own = [...jobs.values()].filter((job) => job.queue === queue);
    return {
      maxRetries: Math.max(0, ...own.map(({ maxRetries }) => maxRetries)),
      timeoutMs: Math.max(0, ...own.map(({ timeoutMs }) => timeoutMs)),
    };
  };
}
