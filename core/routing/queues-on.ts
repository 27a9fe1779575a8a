/** What the workers of a backend take from. Apart, because no function needs it for its start. */

import type { App } from '../kernel/app/app.ts';
import type { Job } from '../kernel/app/job.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { isOn, takersOf } from './belongs.ts';
import type { RoutingOptions } from './client.ts';

/** The jobs that belong to a backend, or come to it while theirs does not answer. */
export const jobsOn = (app: App, name: string, { failover = {} }: RoutingOptions): Job[] =>
  [...app.jobs.values()].filter((job) =>
    takersOf(app, job).some((own) => own === name || failover[own] === name),
  );

/** The queues that the workers of a backend take from: those of its jobs, and those that only options name, where they belong. */
export function queuesOn(app: App, name: string, routing: RoutingOptions): string[] {
  const { queueRules, accepts } = app;
  const own = new Set([...app.jobs.values()].map(({ queue }) => queue));
  const comesHere = (home: string): boolean => home === name || routing.failover?.[home] === name;
  const isHere = (queue: string): boolean => {
    const accepted = [...(accepts.get(queue) ?? [])].flatMap((job) => app.jobs.get(job) ?? []);
    const { backends } = queueRules.get(queue) ?? {};
    const homes =
      accepted.length > 0
        ? accepted.flatMap((job) => takersOf(app, job, queue))
        : backends?.length
          ? backends
          : ['default'];
    return homes.some(comesHere);
  };
  const named = app.queues.filter((queue) => !own.has(queue) && isHere(queue));
  return [...new Set([...jobsOn(app, name, routing).map(({ queue }) => queue), ...named])];
}

/** The same client, and of the app only the queues and schedules that its own backend keeps. */
export function scoped(client: Client): Client {
  const { app, name } = client;
  if (name === undefined) return client;
  const schedules = app.schedules.filter(({ job }) => isOn(client, job));
  return { ...client, app: { ...app, queues: queuesOn(app, name, {}), schedules } };
}
