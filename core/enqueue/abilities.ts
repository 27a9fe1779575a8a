/** What an app asks of the backend that its jobs are sent to. */

import type { App } from '../app/app.ts';
import { config } from '../base/errors.ts';
import { backendOf } from '../routing/belongs.ts';
import type { Client } from './client.ts';

/**
 * Throws `CONFIG` for what nobody would keep: limits, an order, a length.
 * @param name of the backend, where the app has several; the jobs and queues of the others do not matter
 */
export function checkAbilities(
  app: App,
  { backend, stores }: Pick<Client, 'backend' | 'stores'>,
  name: string | undefined,
): void {
  const jobs = [...app.jobs.values()].filter((job) => name === undefined || backendOf(app, job) === name);
  const isHere = (queue: string, own: string | null): boolean =>
    name === undefined || (own ?? 'default') === name || jobs.some((job) => job.queue === queue);
  const rules = [...app.queueRules].filter(([queue, rule]) => isHere(queue, rule.backend));
  for (const { name: job, breaker } of jobs)
    if (breaker && !stores.limits)
      throw config(
        `Job "${job}" has a breaker, but backend "${backend.name}" keeps none: give it a store, for example sqliteStore().`,
      );
  for (const { limits } of [...jobs, ...rules.map(([, rule]) => rule)])
    if (limits && !stores.limits)
      throw config(
        `${limits[0]!.of} has a limit, but backend "${backend.name}" keeps none: give it a store, for example sqliteStore().`,
      );
  for (const [queue, { maxLength, order }] of rules) {
    if (maxLength !== null && (!backend.admin || backend.admin.countsByReading))
      throw config(`Backend "${backend.name}" does not count its jobs: leave out maxLength of "${queue}".`);
    if (order && !backend.keepsOrder?.(queue, order))
      throw config(
        `Queue "${queue}" is to keep its groups in order (on a retry: ${order}), which backend "${backend.name}" does not do. Leave order out, or take another backend: docs/groups.md.`,
      );
  }
}
