/** State in this process's memory, for queues that keep none: for tests and for what may be lost with the process. */

import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { Retention, Stores } from '../../../core/contract/store.ts';
import { isShown, type RecordTable, recordStore, type Versioned } from '../../../core/kit/records/store.ts';
import { memoryMetrics } from './metrics.ts';
import { type MemoryKeys, memoryKeys, memoryWorkers } from './stores.ts';

export interface MemoryStoreOptions {
  readonly clock?: Clock;
  /** @default 7 days for completed, 90 days for dead */
  readonly retention?: Partial<Retention>;
}

export function memoryStore({ clock = systemClock, retention }: MemoryStoreOptions = {}): Stores {
  const keys = memoryKeys(clock);
  return {
    keys,
    records: recordStore(memoryTable(keys), { clock, retention }),
    workers: memoryWorkers(),
    metrics: memoryMetrics(),
  };
}

function memoryTable(keys: MemoryKeys): RecordTable {
  const rows = new Map<string, Versioned>();
  let writes = 0;
  const next = (): string => String(++writes);
  return {
    async add(fresh) {
      for (const row of fresh) if (!rows.has(row.id)) rows.set(row.id, { row, version: next() });
    },
    async read(ids) {
      return ids.flatMap((id) => rows.get(id) ?? []);
    },
    async write(row, over) {
      if ((rows.get(row.id)?.version ?? null) !== over) return false;
      rows.set(row.id, { row, version: next() });
      return true;
    },
    async list({ queue, job, status }, max, past) {
      return [...rows.values()]
        .map(({ row }) => row)
        .filter(
          (row) =>
            (queue === undefined || row.queue === queue) &&
            (job === undefined || row.job === job) &&
            (status === undefined || row.status === status) &&
            isShown(row, past),
        )
        .reverse() // of equal age, the later one is the newer
        .sort((a, b) => b.createdAt - a.createdAt)
        .slice(0, max);
    },
    async purge(past, now) {
      let count = keys.purgeEnded();
      for (const [id, { row }] of rows) {
        if (!isShown(row, past) && row.guardedUntil <= now && rows.delete(id)) count++;
      }
      return count;
    },
  };
}
