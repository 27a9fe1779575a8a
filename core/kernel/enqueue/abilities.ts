/** One table of the features that an app uses and a backend may lack. Everybody who looks before a job is sent reads it. */

import { config } from '../../base/errors.ts';
import type { GroupOrder } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
import type { UniqueRule } from '../app/unique.ts';
import { declaredOn } from './backends.ts';
import type { Client } from './client.ts';

/** The features of a backend, with the store beside it. */
export interface Abilities {
  readonly name: string;
  /** The handler and the ack can share one. */
  readonly transactions: boolean;
  /** It changes a job that waits. */
  readonly replaces: boolean;
  readonly records: boolean;
  /** It counts the jobs of a queue without reading them. */
  readonly counts: boolean;
  /** Slots of one limit; 0 = it keeps no limits. */
  readonly mostSlots: number;
  /** Slots that it gives out in a second, of a limit that has so many. */
  mostPerSecond(slots: number): number;
  keepsOrder(queue: string, order: GroupOrder): boolean;
}

/** Something of the app that a backend would not keep. */
export interface Unmet {
  /** `job "x"` or `queue "x"`. */
  readonly of: string;
  /** As the option is called. */
  readonly feature: string;
  /** Says what is wrong, and the remedy. */
  readonly text: string;
}

export const abilitiesOf = ({ backend, stores }: Pick<Client, 'backend' | 'stores'>): Abilities => ({
  name: backend.name,
  transactions: backend.begin !== undefined,
  replaces: backend.pending !== undefined,
  records: stores.records?.recordsDisabled !== true,
  counts: backend.admin !== undefined && !backend.admin.statsScanMessages,
  mostSlots: stores.limits ? (stores.limits.mostSlots ?? Number.POSITIVE_INFINITY) : 0,
  mostPerSecond: (slots) => stores.limits?.mostPerSecond?.(slots) ?? Number.POSITIVE_INFINITY,
  keepsOrder: (queue, order) => backend.keepsOrder?.(queue, order) === true,
});

/**
 * Throws `CONFIG` for all that nobody would keep or run: transactions, limits, an order, a length, one job of its kind.
 * @param name of the backend, where the app has several; the jobs and queues of the others do not matter
 */
export function checkAbilities(app: App, it: Abilities, name: string | undefined): void {
  const unmet = unmetBy(app, it, name);
  refuse(
    `Backend "${it.name}" cannot do ${unmet.length} things that the app asks for:`,
    unmet.map(({ text }) => text),
  );
}

/** Throws `CONFIG` for all at once. @param head of a list; a fault that is alone speaks for itself */
export function refuse(head: string, faults: readonly string[]): void {
  if (faults.length === 1) throw config(faults[0]!);
  if (faults.length > 1) throw config([head, ...faults.map((text) => `- ${text}`)].join('\n'));
}

/** Lists the features that the backend would not keep, those of jobs first. */
export function unmetBy(app: App, it: Abilities, name?: string): Unmet[] {
  const { jobs, rules } = declaredOn(app, name);
  const unmet: Unmet[] = [];
  const add = (of: string, feature: string, text: string) => unmet.push({ of, feature, text });
  const needsStore = (what: string): string =>
    `${what}, but backend "${it.name}" keeps none: give it a store, for example sqliteStore().`;
  for (const { name: job, transaction, breaker, unique } of jobs) {
    if (transaction && !it.transactions)
      add(
        `job "${job}"`,
        'transaction',
        `Job "${job}" has a transaction, but backend "${it.name}" offers none. Run it on postgres().`,
      );
    if (breaker && it.mostSlots === 0)
      add(`job "${job}"`, 'breaker', needsStore(`Job "${job}" has a breaker`));
    const text = unique && uniqueFault(it, job, unique);
    if (text) add(`job "${job}"`, unique.waitMs === undefined ? 'unique' : 'debounce', text);
  }
  for (const [of, { limits }] of [
    ...jobs.map((job) => [`job "${job.name}"`, job] as const),
    ...rules.map(([queue, rule]) => [`queue "${queue}"`, rule] as const),
  ])
    for (const limit of limits ?? []) {
      const { kind, slots, holdMs } = limit;
      const perSecond = kind === 'rate' ? (slots * 1_000) / holdMs! : 0;
      if (it.mostSlots === 0) add(of, kind, needsStore(`${limit.of} has a limit`));
      else if (slots > it.mostSlots)
        add(
          of,
          kind,
          `Expected the limit of ${kind} of ${limit.of} to be at most ${it.mostSlots}, which is what the store of backend "${it.name}" can count, got ${slots}. Use a smaller limit,${kind === 'rate' ? ' smooth: true,' : ''} or another store.`,
        );
      else if (perSecond > it.mostPerSecond(slots))
        add(
          of,
          kind,
          `The rate of ${limit.of} can never be reached: ${slots} in ${holdMs} ms are ${Math.ceil(perSecond)} a second, and the store of backend "${it.name}" gives out ${it.mostPerSecond(slots)} of ${slots} slots a second. Use smooth: true, fewer in a shorter perMs, or another store.`,
        );
    }
  for (const [queue, { maxLength, order }] of rules) {
    if (maxLength !== null && !it.counts)
      add(
        `queue "${queue}"`,
        'maxLength',
        `Backend "${it.name}" does not count its jobs: leave out maxLength of "${queue}".`,
      );
    if (order && !it.keepsOrder(queue, order)) {
      const other = order === 'wait' ? 'step-aside' : 'wait';
      const remedy = it.keepsOrder(queue, other) ? `Set onRetry: '${other}'` : 'Leave order out';
      add(
        `queue "${queue}"`,
        'order',
        `Queue "${queue}" is to keep its groups in order (on a retry: ${order}), which backend "${it.name}" does not do. ${remedy}, or take another backend: docs/groups.md.`,
      );
    }
  }
  return unmet;
}

/** Checks the rule of one call. Throws `CONFIG`. */
export function checkUnique(
  client: Pick<Client, 'backend' | 'stores'>,
  job: string,
  rule: UniqueRule<unknown>,
): void {
  const fault = uniqueFault(abilitiesOf(client), job, rule);
  if (fault !== null) throw config(fault);
}

function uniqueFault(
  it: Abilities,
  job: string,
  { onConflict, during: time }: UniqueRule<unknown>,
): string | null {
  if (onConflict === 'replace' && !it.replaces)
    return `Job "${job}" replaces one that waits, which backend "${it.name}" cannot do. Use unique with onConflict: 'skip', or a backend that can: docs/backends.md.`;
  if (!it.records && typeof time !== 'object')
    return `Backend "${it.name}" keeps no records, so nothing tells whether a job with the unique key of "${job}" waits or runs: give it a store, for example sqliteStore(), or use during: { forMs }.`;
  return null;
}
