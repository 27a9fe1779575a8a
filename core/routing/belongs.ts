/** What belongs to which backend of an app. */

import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import type { QueueRules } from '../app/queues.ts';
import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../enqueue/client.ts';
import type { RoutingOptions } from './client.ts';

/** The name of the backend that a job belongs to. @param queue another than its own */
export const backendOf = (
  { queueRules }: Pick<App, 'queueRules'>,
  job: Pick<Job, 'backend' | 'queue'>,
  queue: string = job.queue,
): string => job.backend ?? queueRules.get(queue)?.backend ?? 'default';

/** The jobs of a backend, and what its queues keep to. @param name `undefined` = it has all */
export function declaredOn(
  app: App,
  name: string | undefined,
): { readonly jobs: readonly Job[]; readonly rules: readonly (readonly [queue: string, QueueRules])[] } {
  const jobs = [...app.jobs.values()].filter((job) => name === undefined || backendOf(app, job) === name);
  const isHere = (queue: string, own: string | null): boolean =>
    name === undefined || (own ?? 'default') === name || jobs.some((job) => job.queue === queue);
  return { jobs, rules: [...app.queueRules].filter(([queue, { backend }]) => isHere(queue, backend)) };
}

/** The jobs that belong to a backend, or come to it while theirs does not answer. */
export const jobsOn = (app: App, name: string, { failover = {} }: RoutingOptions): Job[] =>
  [...app.jobs.values()].filter((job) => {
    const own = backendOf(app, job);
    return own === name || failover[own] === name;
  });

/** The queues that the workers of a backend take from: those of its jobs, and those that only options name, where they belong. */
export function queuesOn(app: App, name: string, routing: RoutingOptions): string[] {
  const { queueRules, accepts } = app;
  const own = new Set([...app.jobs.values()].map(({ queue }) => queue));
  const comesHere = (home: string): boolean => home === name || routing.failover?.[home] === name;
  const isHere = (queue: string): boolean => {
    const accepted = [...(accepts.get(queue) ?? [])].flatMap((job) => app.jobs.get(job) ?? []);
    const homes =
      accepted.length > 0
        ? accepted.map((job) => backendOf(app, job, queue))
        : [queueRules.get(queue)?.backend ?? 'default'];
    return homes.some(comesHere);
  };
  const named = app.queues.filter((queue) => !own.has(queue) && isHere(queue));
  return [...new Set([...jobsOn(app, name, routing).map(({ queue }) => queue), ...named])];
}

/** Whether what belongs to this job is kept by this client's own backend. */
export const isOn = ({ app, name }: Pick<Client, 'app' | 'name'>, job: Job): boolean =>
  name === undefined || backendOf(app, job) === name;

/** The client whose backend and stores keep what belongs to this job; `null` = this one does not reach them. */
export const homeOf = (client: Client, job: Job): Client | null =>
  client.backends?.get(backendOf(client.app, job)) ?? (isOn(client, job) ? client : null);

/** The clients of all backends that are reached, or of the one. */
export const eachOf = (client: Client): Client[] => [...(client.backends?.values() ?? [client])];

/** Whether schedules may be made at run time in one of them. */
export const keepsSchedules = (client: Client): boolean =>
  eachOf(client).some(({ stores }) => stores.schedules !== undefined);

/** The same client, and of the app only the queues and schedules that its own backend keeps. */
export function scoped(client: Client): Client {
  const { app, name } = client;
  if (name === undefined) return client;
  const schedules = app.schedules.filter(({ job }) => isOn(client, job));
  return { ...client, app: { ...app, queues: queuesOn(app, name, {}), schedules } };
}

export const notOne = (name: unknown, names: readonly string[]): LongshoreError =>
  new LongshoreError('OPTION', `Expected backend to be one of ${names.join(', ')}, got "${name}".`);
