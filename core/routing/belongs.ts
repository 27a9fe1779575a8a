/** What belongs to which backend of an app. */

import { LongshoreError } from '../base/errors.ts';
import type { App } from '../kernel/app/app.ts';
import type { Job } from '../kernel/app/job.ts';
import type { QueueRules } from '../kernel/app/queues.ts';
import type { Client } from '../kernel/enqueue/client.ts';

/** The name of the backend that a job belongs to. @param queue another than its own */
export const backendOf = (
  { queueRules }: Pick<App, 'queueRules'>,
  job: Pick<Job, 'backend' | 'queue'>,
  queue: string = job.queue,
): string => job.backend ?? queueRules.get(queue)?.backend ?? 'default';

/** The backends whose workers take this job: its own, and others that its queue names. */
export const takersOf = (
  app: Pick<App, 'queueRules'>,
  job: Pick<Job, 'backend' | 'queue'>,
  queue: string = job.queue,
): readonly string[] => [backendOf(app, job, queue), ...(app.queueRules.get(queue)?.backends ?? [])];

/** The jobs of a backend, and what its queues keep to. @param name `undefined` = it has all */
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

/** Whether what belongs to this job is kept by this client's own backend. */
export const isOn = ({ app, name }: Pick<Client, 'app' | 'name'>, job: Job): boolean =>
  name === undefined || backendOf(app, job) === name;

/**
 * The client whose backend and stores keep what belongs to this job; `null` = this one does not reach them. Its `enqueue` is that of
 * the whole: it goes to another backend while this one does not answer.
 */
export function homeOf(client: Client, job: Job): Client | null {
  const home = client.backends?.get(backendOf(client.app, job));
  if (home) return { ...home, enqueue: client.enqueue };
  return isOn(client, job) ? client : null;
}

/** The clients of all backends that are reached, or of the one. */
export const eachOf = (client: Client): Client[] => [...(client.backends?.values() ?? [client])];

/** Whether schedules may be made at run time in one of them. */
export const keepsSchedules = (client: Client): boolean =>
  eachOf(client).some(({ stores }) => stores.schedules !== undefined);

export const notOne = (name: unknown, names: readonly string[]): LongshoreError =>
  new LongshoreError('OPTION', `Expected backend to be one of ${names.join(', ')}, got "${name}".`);
