/** The stores that are made of texts. Code is loaded with the first use of each, but for what every worker and every step needs. */

import type { Clock } from '../../base/clock.ts';
import { onDemand, verbsOf } from '../../base/lazy.ts';
import type { BackendStores, DerivedStores } from '../../contract/store.ts';
import type { TextStore } from '../../contract/texts.ts';
import { sectionOf } from './section.ts';
import { textWorkers } from './workers.ts';

export const derivedNames = [
  'workers',
  'metrics',
  'audit',
  'limits',
  'steps',
  'batches',
  'schedules',
] as const satisfies readonly (keyof DerivedStores)[];

export interface TextLimits {
  /** A key has no more slots than these. @default any number */
  readonly mostSlots?: number;
  /** So many waiters of a key are remembered. @default 1_000 */
  readonly mostWaiters?: number;
}

export function storesOf(
  texts: TextStore,
  clock: Clock,
  { mostSlots, mostWaiters }: TextLimits = {},
): DerivedStores & { readonly texts: TextStore } {
  // Names of steps begin with `job:`, `event:` and `result:`; those of all other sections with a word and a slash.
  const { read, write, remove, within } = sectionOf(texts, '');
  return {
    texts,
    workers: textWorkers(texts, clock),
    steps: { read, write, remove, ...(within && { within }) },
    schedules: verbsOf(
      ['get', 'write', 'remove', 'list', 'due'],
      onDemand(async () => (await import('./schedules.ts')).textSchedules(texts, clock)),
    ),
    metrics: verbsOf(
      ['write', 'read', 'purge'],
      onDemand(async () => (await import('./metrics.ts')).textMetrics(texts)),
    ),
    audit: verbsOf(
      ['append', 'page', 'purge'],
      onDemand(async () => (await import('./audit.ts')).textAudit(texts)),
    ),
    limits: {
      ...(mostSlots !== undefined && { mostSlots }),
      ...verbsOf(
        ['take', 'extend', 'free', 'wake', 'hold', 'reset', 'heldUntilReset', 'list', 'leave', 'waitsFor'],
        onDemand(async () => {
          const { limitStore } = await import('../records/limits.ts');
          const section = sectionOf(texts, 'limit/');
          return limitStore({ ...section, ...(mostWaiters !== undefined && { mostWaiters }) }, clock);
        }),
      ),
    },
    batches: verbsOf(
      ['open', 'sent', 'ended', 'get', 'list', 'cancel', 'unended', 'failed', 'reopen', 'called', 'toCheck'],
      onDemand(async () => {
        const { batchStore } = await import('../records/batches.ts');
        return batchStore(sectionOf(texts, 'batch/'), clock);
      }),
    ),
  };
}

/** With all that can be made of their texts. What a backend has itself stays. */
export function wholeStores(stores: Partial<BackendStores>, clock: Clock): Partial<BackendStores> {
  const { texts } = stores;
  const isWhole = !texts || derivedNames.every((name) => stores[name]);
  return isWhole ? stores : { ...storesOf(texts, clock), ...stores };
}
