import { type Clock, steadyNow } from '../../../core/base/clock.ts';
import type { KeyCompletion } from '../../../core/contract/queue.ts';
import type { KeyStore, RecordFilter, RecordPage, RecordStore } from '../../../core/contract/store.ts';
import { cursorOf, matches, positionIn } from '../../../core/kit/records/filter.ts';
import {
  endOf,
  type KeyTable,
  keyStore,
  type StoredKey,
  type VersionedKey,
} from '../../../core/kit/records/keys.ts';
import { type Entry, isDead, isOver, recordOf } from './entry.ts';
import type { MemoryState } from './state.ts';

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

export function memoryRecords(state: MemoryState, others: readonly Purgeable[]): RecordStore {
  const { entries, clock } = state;

  function page({ after, max = 100, ...filter }: RecordFilter & { readonly after?: string }): RecordPage {
    const [before] = after === undefined ? [Infinity] : positionIn(after, 'number');
    const found: Entry[] = [];
    if (max < 1) return { records: [], next: null };
    for (const entry of [...entries.values()].sort((a, b) => b.seq - a.seq)) {
      if (entry.seq >= before || !matches(recordOf(entry), filter)) continue;
      if (found.length === max) return { records: found.map(recordOf), next: cursorOf(found[max - 1]!.seq) };
      found.push(entry);
    }
    return { records: found.map(recordOf), next: null };
  }

  return {
    async get(id) {
      const entry = entries.get(id);
      return entry ? recordOf(entry) : null;
    },
    page: async (query) => page(query),
    async body(id) {
      const entry = entries.get(id);
      return entry && (entry.keepsBody || !isOver(entry)) ? entry.message.body : null;
    },
    async progress(id, token, progress) {
      const entry = entries.get(id);
      if (entry?.state !== 'leased' || entry.token !== token || entry.leaseUntil <= steadyNow(clock))
        return false;
      entry.progress = progress;
      return true;
    },
    async cancel(id) {
      const entry = entries.get(id);
      if (!entry) return 'unknown';
      if (entry.finishedAt !== null) return 'finished';
      if (entry.state === 'leased') {
        entry.cancelRequested = true;
        return 'cancelling';
      }
      state.finish(entry, 'cancelled', null);
      return 'cancelled';
    },
    watchEnd: ({ id }, look) => ({ hears: true, stop: state.ends.add(id, look) }),
    async cancelRequested(ids) {
      return ids.filter((id) => {
        const entry = entries.get(id);
        return entry?.state === 'leased' && entry.cancelRequested;
      });
    },
    async purge(olderThan = state.retention) {
      const now = clock.now();
      let count = others.reduce((sum, other) => sum + other.purgeEnded(), 0);
      for (const [id, entry] of entries) {
        if (entry.finishedAt === null) continue;
        const which = isDead(entry) ? 'deadMs' : 'completedMs';
        const ownMs = entry.keepMs === null ? 0 : entry.keepMs - state.retention[which];
        if (entry.finishedAt + olderThan[which] + ownMs > now) continue;
        entries.delete(id);
        count++;
      }
      return count;
    },
  };
}
