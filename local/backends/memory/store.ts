/** State in this process's memory, for queues that keep none: for tests, and for state that may be lost with the process. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { listedOf, matches, pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import { isShown, type RecordTable, recordStore, type Versioned } from '../../../core/kit/records/store.ts';
import { memoryKeys, type Purgeable } from './stores.ts';
import { memoryStores, memoryTexts } from './texts.ts';

export interface MemoryStoreOptions {
  /** For tests. @default the system's clock */
  readonly clock?: Clock;
  /** How long ended jobs are kept. @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
}

export function memoryStore({ clock = systemClock, retention }: MemoryStoreOptions = {}): Stores {
  const keys = memoryKeys(clock);
  const texts = memoryTexts(clock);
  return {
    keys,
    records: recordStore(memoryTable([keys, texts]), { clock, retention }),
    ...memoryStores(texts, clock),
  };
}

function memoryTable(others: readonly Purgeable[]): RecordTable {
  /** `seq` orders rows of equal age. */
  const rows = new Map<string, Versioned & { readonly seq: number }>();
  let writes = 0;
  let added = 0;
  const next = (): string => String(++writes);
  return {
    async add(fresh) {
      for (const row of fresh)
        if (!rows.has(row.id)) rows.set(row.id, { row, version: next(), seq: ++added });
    },
    async read(ids) {
      return ids.flatMap((id) => rows.get(id) ?? []);
    },
    async write(row, over) {
      if ((rows.get(row.id)?.version ?? null) !== over) return false;
      rows.set(row.id, { row, version: next(), seq: rows.get(row.id)?.seq ?? ++added });
      return true;
    },
    async page({ after, ...filter }, max, past) {
      const [before, beforeSeq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const found = [...rows.values()]
        .filter(({ row, seq }) => row.createdAt < before || (row.createdAt === before && seq < beforeSeq))
        .filter(({ row }) => isShown(row, past) && matches(listedOf(row), filter))
        .sort((a, b) => b.row.createdAt - a.row.createdAt || b.seq - a.seq);
      const { shown, next } = pageOf(found, max, ({ row, seq }) => [row.createdAt, seq]);
      return { rows: shown.map(({ row }) => row), next };
    },
    async purge(past, now) {
      let count = others.reduce((sum, other) => sum + other.purgeEnded(), 0);
      for (const [id, { row }] of rows) {
        if (!isShown(row, past) && row.guardedUntil <= now && rows.delete(id)) count++;
      }
      return count;
    },
  };
}
