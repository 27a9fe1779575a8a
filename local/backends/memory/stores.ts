import type { Clock } from '../../../core/base/clock.ts';
import type { KeyCompletion } from '../../../core/contract/queue.ts';
import type { KeyStore, RecordStore, WorkerRegistry } from '../../../core/contract/store.ts';
import { workerRegistry } from '../../../core/kit/worker-registry.ts';
import { isDead, isLive, recordOf, statusOf } from './entry.ts';
import type { MemoryState } from './state.ts';

interface KeyRow {
  /** `null` = released or completed. */
  readonly owner: string | null;
  readonly holdUntil: number;
  readonly done: boolean;
  readonly value: string | null;
  /** Of `value` and `done`. Apart from `holdUntil`, so that the value outlives an owner that dies. */
  readonly keepUntil: number;
}

export interface MemoryKeys extends KeyStore {
  /** For an ack, which has checked the lease. */
  completeNow(done: KeyCompletion): void;
  /** Returns how many. */
  purgeEnded(): number;
}

export function memoryKeys(clock: Clock): MemoryKeys {
  const rows = new Map<string, KeyRow>();
  const owned = (key: string, owner: string): KeyRow | null => {
    const row = rows.get(key);
    return row && row.owner === owner && row.holdUntil > clock.now() ? row : null;
  };
  const finish = (key: string, value: string | null, keepUntil: number) =>
    rows.set(key, { owner: null, holdUntil: 0, done: true, value, keepUntil });
  return {
    async claim(key, owner, holdUntil) {
      const now = clock.now();
      const row = rows.get(key);
      const kept = row !== undefined && row.keepUntil > now;
      if (kept && row.done) return { state: 'completed', value: row.value };
      if (row && row.owner !== null && row.owner !== owner && row.holdUntil > now) {
        return { state: 'running', until: row.holdUntil };
      }
      const value = kept ? row.value : null;
      rows.set(key, { owner, holdUntil, done: false, value, keepUntil: kept ? row.keepUntil : 0 });
      return { state: 'claimed', value };
    },
    async extend(key, owner, holdUntil) {
      const row = owned(key, owner);
      if (row) rows.set(key, { ...row, holdUntil });
      return row !== null;
    },
    async complete(key, owner, { value, keepUntil }) {
      if (!owned(key, owner)) return false;
      finish(key, value, keepUntil);
      return true;
    },
    async release(key, owner, keep) {
      if (!owned(key, owner)) return false;
      if (keep) rows.set(key, { owner: null, holdUntil: 0, done: false, ...keep });
      else rows.delete(key);
      return true;
    },
    completeNow({ key, owner, value, keepUntil }) {
      if (rows.get(key)?.owner === owner) finish(key, value, keepUntil);
    },
    purgeEnded() {
      const now = clock.now();
      const before = rows.size;
      for (const [key, row] of rows) if (Math.max(row.holdUntil, row.keepUntil) <= now) rows.delete(key);
      return before - rows.size;
    },
  };
}

export function memoryRecords(state: MemoryState, keys: MemoryKeys): RecordStore {
  const { entries, clock } = state;
  return {
    async get(id) {
      const entry = entries.get(id);
      return entry ? recordOf(entry) : null;
    },
    async list({ queue, job, status, max = 100 }) {
      return [...entries.values()]
        .filter(
          (entry) =>
            (queue === undefined || entry.message.queue === queue) &&
            (job === undefined || entry.message.job === job) &&
            (status === undefined || statusOf(entry) === status),
        )
        .sort((a, b) => b.seq - a.seq)
        .slice(0, max)
        .map(recordOf);
    },
    async progress(id, token, progress) {
      const entry = entries.get(id);
      if (entry?.state !== 'leased' || entry.token !== token || entry.leaseUntil <= clock.now()) return false;
      entry.progress = progress;
      return true;
    },
    async cancel(id) {
      const entry = entries.get(id);
      if (!entry) return 'unknown';
      if (!isLive(entry)) return 'finished';
      if (entry.state === 'leased') {
        entry.cancelRequested = true;
        return 'cancelling';
      }
      state.finish(entry, 'cancelled', 'cancelled', null);
      return 'cancelled';
    },
    async cancelRequested(ids) {
      return ids.filter((id) => {
        const entry = entries.get(id);
        return entry?.state === 'leased' && entry.cancelRequested;
      });
    },
    async purge(olderThan = state.retention) {
      const now = clock.now();
      let count = keys.purgeEnded();
      for (const [id, entry] of entries) {
        if (entry.finishedAt === null) continue;
        const keepMs = isDead(entry) ? olderThan.deadMs : olderThan.completedMs;
        if (entry.finishedAt + keepMs > now) continue;
        entries.delete(id);
        count++;
      }
      return count;
    },
  };
}

export function memoryWorkers(): WorkerRegistry {
  const beats = new Map<string, string>();
  return workerRegistry({
    write: async ({ id }, text) => beats.set(id, text),
    read: async () => [...beats.values()],
    remove: async (id) => beats.delete(id),
  });
}
