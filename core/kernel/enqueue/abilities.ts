/** Compares the features that an app uses with the abilities of a backend. */

import { config } from '../../base/errors.ts';
import type { GroupOrder } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
import { declaredOn } from './backends.ts';
import type { Client } from './client.ts';

/** The abilities of a backend together with its store. */
export interface Abilities {
  readonly name: string;
  /** The handler and the ack can share a transaction. */
  readonly transactions: boolean;
  /** It can change a waiting job. */
  readonly replaces: boolean;
  readonly records: boolean;
  /** It can count the jobs of a queue without reading them. */
  readonly counts: boolean;
  /** The most slots of one limit; 0 = it keeps no limits. */
  readonly mostSlots: number;
  /** How many slots per second it can give out of a limit with this number of slots. */
  mostPerSecond(slots: number): number;
  keepsOrder(queue: string, order: GroupOrder): boolean;
}

/** An option of the app that a backend cannot honour. */
export interface Unmet {
  /** `job "x"` or `queue "x"`. */
  readonly of: string;
  /** The name of the option. */
  readonly feature: string;
  /** The message: what is wrong, and what to do. */
  readonly text: string;
}

export type Declared = ReturnType<typeof declaredOn>;

/** Returns the needs of a feature that a backend does not meet. */
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
 * Throws `CONFIG` for options that the backend cannot honour: transactions, limits, order, length, uniqueness.
 * @param name the backend's name if the app has several; only the jobs and queues of this backend are checked
 */
export function checkAbilities(app: App, it: Abilities, name: string | undefined): void {
  const unmet = unmetBy(app, it, name);
  refuse(
    `Backend "${it.name}" cannot do ${unmet.length} things that the app asks for:`,
    unmet.map(({ text }) => text),
  );
}

/** Throws `CONFIG` with all faults. @param head the heading, used only if there are several */
export function refuse(head: string, faults: readonly string[]): void {
  if (faults.length === 1) throw config(faults[0]!);
  if (faults.length > 1) throw config([head, ...faults.map((text) => `- ${text}`)].join('\n'));
}

/** @param what the beginning of the sentence */
export const noStore = (what: string, { name }: Abilities): string =>
  `${what}, but backend "${name}" keeps none: give it a store, for example sqliteStore().`;

/** Lists the options that the backend cannot honour, those of jobs first. */
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
        `Queue "${queue}" has order: 'group' (on a retry: ${order}), which backend "${it.name}" does not support. ${remedy}, or use another backend: docs/groups.md.`,
      );
    }
  }
  return unmet;
}
