/** The part of an app that functions run: the jobs, queues and schedules of one backend. */

import { config } from '../../core/base/errors.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { jobsOn, queuesOn } from '../../core/kernel/enqueue/backends.ts';

export type AppPart = Pick<App, 'jobs' | 'queues' | 'queueRules' | 'schedules'>;

/** Throws `CONFIG` without a queue, and for a job that no function can run. */
export function partOn(app: App, backendName = 'default'): AppPart {
  const jobs = new Map(jobsOn(app, backendName).map((job) => [job.name, job]));
  const own = queuesOn(app, backendName);
  if (own.length === 0)
    throw config(
      `No queue of the app belongs to backend "${backendName}". Name the backend of the functions in the deployment: { backendName: 'fast' }.`,
    );
  const isolated = [...jobs.values()].find(({ isolation }) => isolation !== null);
  if (isolated)
    throw config(
      `Job "${isolated.name}" is isolated, and a bundle of functions has no file to start it from. Leave out \`isolate\`, or run its queue in a container.`,
    );
  return {
    jobs,
    queues: app.queues.filter((queue) => own.includes(queue)),
    queueRules: app.queueRules,
    schedules: app.schedules.filter(({ job }) => jobs.has(job.name)),
  };
}
