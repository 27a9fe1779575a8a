/** What an app asks of the backend that its jobs are sent to. */

import type { App } from '../app/app.ts';
import type { UniqueRule } from '../app/unique.ts';
import { config } from '../base/errors.ts';
import { declaredOn } from '../routing/belongs.ts';
import type { Client } from './client.ts';

type Abilities = Pick<Client, 'backend' | 'stores'>;

/**
 * Throws `CONFIG` for what nobody would keep: limits, an order, a length, one job of its kind.
 * @param name of the backend, where the app has several; the jobs and queues of the others do not matter
 */
export function checkAbilities(app: App, { backend, stores }: Abilities, name: string | undefined): void {
  const { jobs, rules } = declaredOn(app, name);
  for (const { name: job, breaker } of jobs)
    if (breaker && !stores.limits)
      throw config(
        `Job "${job}" has a breaker, but backend "${backend.name}" keeps none: give it a store, for example sqliteStore().`,
      );
  for (const { name: job, unique } of jobs) if (unique) checkUnique({ backend, stores }, job, unique);
  const { mostSlots = Infinity } = stores.limits ?? {};
  for (const { limits } of [...jobs, ...rules.map(([, rule]) => rule)])
    for (const { of, kind, slots, holdMs } of limits ?? []) {
      if (!stores.limits)
        throw config(
          `${of} has a limit, but backend "${backend.name}" keeps none: give it a store, for example sqliteStore().`,
        );
      if (slots > mostSlots)
        throw config(
          `Expected the limit of ${kind} of ${of} to be at most ${mostSlots}, which is what the store of backend "${backend.name}" can count, got ${slots}. Use a smaller limit,${kind === 'rate' ? ' smooth: true,' : ''} or another store.`,
        );
      const perSecond = kind === 'rate' ? (slots * 1_000) / holdMs! : 0;
      const mostPerSecond = stores.limits.mostPerSecond?.(slots) ?? Infinity;
      if (perSecond > mostPerSecond)
        throw config(
          `The rate of ${of} can never be reached: ${slots} in ${holdMs} ms are ${Math.ceil(perSecond)} a second, and the store of backend "${backend.name}" gives out ${mostPerSecond} of ${slots} slots a second. Use smooth: true, fewer in a shorter perMs, or another store.`,
        );
    }
  for (const [queue, { maxLength, order }] of rules) {
    if (maxLength !== null && (!backend.admin || backend.admin.countsByReading))
      throw config(`Backend "${backend.name}" does not count its jobs: leave out maxLength of "${queue}".`);
    if (order && !backend.keepsOrder?.(queue, order)) {
      const other = order === 'wait' ? 'step-aside' : 'wait';
      const remedy = backend.keepsOrder?.(queue, other) ? `Set onRetry: '${other}'` : 'Leave order out';
      throw config(
        `Queue "${queue}" is to keep its groups in order (on a retry: ${order}), which backend "${backend.name}" does not do. ${remedy}, or take another backend: docs/groups.md.`,
      );
    }
  }
}

/** Of a job at the start, of a call when it comes. Throws `CONFIG`. */
export function checkUnique(
  { backend, stores }: Abilities,
  job: string,
  { onConflict, while: time }: UniqueRule<unknown>,
): void {
  if (onConflict === 'replace' && !backend.waiting)
    throw config(
      `Job "${job}" replaces one that waits, which backend "${backend.name}" cannot do. Use unique with onConflict: 'skip', or a backend that can: docs/backends.md.`,
    );
  if (stores.records.keepsNothing && typeof time !== 'object')
    throw config(
      `Backend "${backend.name}" keeps no records, so nothing tells whether a job with the unique key of "${job}" waits or runs: give it a store, for example sqliteStore(), or use while: { forMs }.`,
    );
}
