/** The stores that are made of texts. Workers and steps are loaded at once, the other stores with their first use. */

import type { Clock } from '../../base/clock.ts';
import { door, verbsOf } from '../../base/lazy.ts';
import type { BackendStores, DerivedStores } from '../../contract/store.ts';
import type { TextStore } from '../../contract/texts.ts';
import { sectionOf } from './section.ts';
import { textWorkers } from './workers.ts';

const code = door(() => import('./door.ts'));

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
  /** Most slots of a key. @default any number */
  readonly mostSlots?: number;
  /** Most waiters that a key remembers. @default 1_000 */
  readonly mostWaiters?: number;
}

/** `mostSlots` for stores whose items have 380,000 bytes at most. With default ids a slot takes about 150 bytes. */
export const mostSlotsOfItem = 2_500;
const slotBytes = 150;
/** Starts that are not counted yet, and the counts of the others: core/kit/records/counted-starts.ts. */
const mostSlotsOfRate = 55;

/** `mostPerSecond` where a rate writes an item with each start, and 1,000 KB a second can be written to it. */
export const mostPerSecondOfItem = (slots: number): number =>
  Math.floor(1_000 / Math.ceil((Math.min(slots, mostSlotsOfRate) * slotBytes) / 1_024));

export function storesOf(
  texts: TextStore,
  clock: Clock,
  { mostSlots, mostWaiters }: TextLimits = {},
): DerivedStores & { readonly texts: TextStore } {
  // Names of steps begin with `job:`, `piece:`, `event:` and `result:`; names of all other sections begin with a word and a slash.
  const { read, write, remove, within } = sectionOf(texts, '');
  return {
    texts,
    workers: textWorkers(texts, clock),
    steps: { read, write, remove, ...(within && { within }) },
    schedules: verbsOf(['get', 'write', 'remove', 'list', 'due'], async () =>
      code(({ textSchedules }) => textSchedules(texts, clock)),
    ),
    metrics: verbsOf(['write', 'read', 'purge'], async () => code(({ textMetrics }) => textMetrics(texts))),
    audit: verbsOf(['append', 'page', 'purge'], async () => code(({ textAudit }) => textAudit(texts))),
    limits: {
      ...(mostSlots !== undefined && { mostSlots }),
      ...verbsOf(
        ['take', 'extend', 'free', 'wake', 'hold', 'reset', 'heldUntilReset', 'list', 'leave', 'waitsFor'],
        async () => {
          const options = {
            ...sectionOf(texts, 'limit/'),
            ...(mostWaiters !== undefined && { mostWaiters }),
          };
          return code(({ limitStore }) => limitStore(options, clock));
        },
      ),
    },
    batches: verbsOf(
      ['open', 'sent', 'ended', 'get', 'list', 'cancel', 'unended', 'failed', 'reopen', 'called', 'toCheck'],
      async () => code(({ batchStore }) => batchStore(sectionOf(texts, 'batch/'), clock)),
    ),
  };
}

/** Adds the stores that can be made of texts. Stores that the backend has itself are kept. */
export function wholeStores(stores: Partial<BackendStores>, clock: Clock): Partial<BackendStores> {
  const { texts } = stores;
  const isWhole = !texts || derivedNames.every((name) => stores[name]);
  return isWhole ? stores : { ...storesOf(texts, clock), ...stores };
}
