/** Which jobs and queues belong to which backend of an app. Every program loads this. */

import { config, LongshoreError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import type { QueueRules } from '../app/queues.ts';
import type { Client } from './client.ts';

/** All backends of the app. Jobs and queues that name none use `default`. `null` = this process does not use the backend. */
export interface Backends {
  readonly default: QueueBackend | null;
  readonly [name: string]: QueueBackend | null;
}

/** `{ first: 'second' }`: while backend `first` does not answer, its new jobs go to `second`. */
export type Failover = Readonly<Record<string, string>>;

export const isBackend = (one: QueueBackend | Backends): one is QueueBackend =>
  typeof one?.enqueue === 'function';

/** Throws `CONFIG` unless `name` is one of `names`. */
export function checkGiven(whose: string, name: string | null, names: readonly string[]): void {
  if (name !== null && !names.includes(name))
    throw config(
      `${whose} uses backend "${name}", but only ${names.join(', ') || 'an unnamed one'} was passed. Pass connect() all backends by name, with null for one that this process does not use.${didYouMean(name, names)}`,
    );
}

/** Throws `CONFIG` if a job or queue names a backend that is not one of `names`. */
export function checkNamed({ jobs, queueRules }: App, names: readonly string[]): void {
  for (const [name, { backend }] of jobs) checkGiven(`Job or queue "${name}"`, backend, names);
  for (const [name, { backends }] of queueRules)
    for (const backend of backends) checkGiven(`Job or queue "${name}"`, backend, names);
}

export const notOne = (name: unknown, names: readonly string[]): LongshoreError =>
  new LongshoreError(
    'OPTION',
    `Expected backend to be one of ${names.join(', ')}, got "${name}".${didYouMean(name, names)}`,
  );

/** The name of the backend that a job belongs to. @param queue @default the job's own queue */
export const backendOf = (
  { queueRules }: Pick<App, 'queueRules'>,
  job: Pick<Job, 'backend' | 'queue'>,
  queue: string = job.queue,
): string => job.backend ?? queueRules.get(queue)?.backend ?? 'default';

/** The backends whose workers take this job: its own, and others that its queue names. */
const takersOf = (
  app: Pick<App, 'queueRules'>,
  job: Pick<Job, 'backend' | 'queue'>,
  queue: string = job.queue,
): readonly string[] => [backendOf(app, job, queue), ...(app.queueRules.get(queue)?.backends ?? [])];

/** The jobs of a backend and the rules of its queues. @param name `undefined` = the app has one backend */
export function declaredOn(
  app: App,
  name: string | undefined,
): { readonly jobs: readonly Job[]; readonly rules: readonly (readonly [queue: string, QueueRules])[] } {
  const jobs = [...app.jobs.values()].filter(
    (job) => name === undefined || takersOf(app, job).includes(name),
  );
  const isHere = (queue: string, { backend, backends }: QueueRules): boolean =>
    name === undefined ||
    (backend ?? 'default') === name ||
    backends.includes(name) ||
    jobs.some((job) => job.queue === queue);
  return { jobs, rules: [...app.queueRules].filter(([queue, rules]) => isHere(queue, rules)) };
}

/** Whether the job belongs to this client's own backend. */
export const isOn = ({ app, name }: Pick<Client, 'app' | 'name'>, job: Job): boolean =>
  name === undefined || backendOf(app, job) === name;

/**
 * The client of the job's own backend and stores; `null` = this process does not use them. Its `enqueue` is the one of the whole client,
 * which fails over to another backend.
 */
export function homeOf(client: Client, job: Job): Client | null {
  const home = client.backends?.get(backendOf(client.app, job));
  if (home) return { ...home, enqueue: client.enqueue };
  return isOn(client, job) ? client : null;
}

/** The clients of all backends that this process uses, or the only one. */
export const eachOf = (client: Client): Client[] => [...(client.backends?.values() ?? [client])];

/** Whether at least one backend can store schedules made at run time. */
export const keepsSchedules = (client: Client): boolean =>
  eachOf(client).some(({ stores }) => stores.schedules !== undefined);

/** The jobs that belong to a backend, or go to it while their own backend does not answer. */
export const jobsOn = (app: App, name: string, failover: Failover = {}): Job[] =>
  [...app.jobs.values()].filter((job) =>
    takersOf(app, job).some((own) => own === name || failover[own] === name),
  );

/** The queues that the workers of a backend take from: the queues of its jobs, and queues without jobs that belong to it. */
export function queuesOn(app: App, name: string, failover: Failover = {}): string[] {
  const { queueRules, accepts } = app;
  const own = new Set([...app.jobs.values()].map(({ queue }) => queue));
  const comesHere = (home: string): boolean => home === name || failover[home] === name;
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
  return [...new Set([...jobsOn(app, name, failover).map(({ queue }) => queue), ...named])];
}

/** The same client, with only those queues and schedules of the app that belong to its backend. */
export function scoped(client: Client): Client {
  const { app, name } = client;
  if (name === undefined) return client;
  const schedules = app.schedules.filter(({ job }) => isOn(client, job));
  return { ...client, app: { ...app, queues: queuesOn(app, name), schedules } };
}
