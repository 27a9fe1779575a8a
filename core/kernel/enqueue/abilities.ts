/** One table of the features that an app uses and a backend may lack. Everybody who looks before a job is sent reads it. */

import { config } from '../../base/errors.ts';
import type { GroupOrder } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
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

export type Declared = ReturnType<typeof declaredOn>;

/** What a feature needs of a backend, and would not get. */
export type Needs = (declared: Declared, it: Abilities) => Unmet[];

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

/** In a sentence that begins with `what`. */
export const noStore = (what: string, { name }: Abilities): string =>
  `${what}, but backend "${name}" keeps none: give it a store, for example sqliteStore().`;

/** Lists the features that the backend would not keep, those of jobs first. */
export function unmetBy(app: App, it: Abilities, name?: string): Unmet[] {
  const declared = declaredOn(app, name);
  const needs = app.installed.needs as readonly Needs[];
  const unmet = [...needs.flatMap((need) => need(declared, it)), ...unmetByQueues(declared, it)];
  return [
    ...unmet.filter(({ of }) => of.startsWith('job')),
    ...unmet.filter(({ of }) => !of.startsWith('job')),
  ];
}

function unmetByQueues({ rules }: Declared, it: Abilities): Unmet[] {
  const unmet: Unmet[] = [];
  const add = (of: string, feature: string, text: string) => unmet.push({ of, feature, text });
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
