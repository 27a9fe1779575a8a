/** The keys of the memory backend. */

import type { Clock } from '../../../core/base/clock.ts';
import type { KeyCompletion } from '../../../core/contract/queue.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import {
  endOf,
  type KeyTable,
  keyStore,
  type StoredKey,
  type VersionedKey,
} from '../../../core/kit/records/keys.ts';

export interface Purgeable {
  /** Removes expired rows and returns how many. */
  purgeEnded(): number;
}

export interface MemoryKeys extends KeyStore, Purgeable {
  /** For an ack, after it has checked the lease. */
  completeNow(done: KeyCompletion): void;
}

export function memoryKeys(clock: Clock): MemoryKeys {
  const rows = new Map<string, VersionedKey>();
  let writes = 0;
  const put = (key: string, stored: StoredKey) => rows.set(key, { stored, version: String(++writes) });
  const table: KeyTable = {
    read: async (key) => rows.get(key) ?? null,
    async write(key, stored, over) {
      if ((rows.get(key)?.version ?? null) !== over) return false;
      put(key, stored);
      return true;
    },
    remove: async (key, version) => rows.get(key)?.version === version && rows.delete(key),
  };
  return {
    ...keyStore(table, clock),
    completeNow({ key, owner, value, keepUntil }) {
      if (rows.get(key)?.stored.owner !== owner) return;
      put(key, { owner: null, holdUntil: 0, done: true, value, keepUntil });
    },
    purgeEnded: () => purgeEnded(rows, clock.now(), ({ stored }) => endOf(stored)),
  };
}

export function purgeEnded<Row>(rows: Map<string, Row>, now: number, end: (row: Row) => number): number {
  const before = rows.size;
  for (const [key, row] of rows) if (end(row) <= now) rows.delete(key);
  return before - rows.size;
}
