import type { Clock } from '../../../core/clock.ts';
import type { KeyCompletion } from '../../../core/contract.ts';
import type { KeyStore, RecordStore, WorkerBeat, WorkerRegistry } from '../../../core/store.ts';
import { isDead, isLive, recordOf, statusOf } from './entry.ts';
import type { MemoryState } from './index.ts';

interface KeyRow {
  /** `null` = released or completed. */
  readonly owner: string | null;
  readonly done: boolean;
  readonly value: string | null;
  readonly until: number;
}

export interface MemoryKeys extends KeyStore {
  /** Called inside an ack, which has already proved the ownership of the lease. */
  completeNow(done: KeyCompletion): void;
}

export function memoryKeys(clock: Clock): MemoryKeys {
  const rows = new Map<string, KeyRow>();
  const live = (key: string): KeyRow | undefined => {
    const row = rows.get(key);
    return row && row.until > clock.now() ? row : undefined;
  };
  const owned = (key: string, owner: string): boolean => live(key)?.owner === owner;
  return {
    async claim(key, owner, holdUntil) {
      const row = live(key);
      if (row?.done) return { state: 'completed', value: row.value };
      if (row && row.owner !== null && row.owner !== owner) return { state: 'running', until: row.until };
      const value = rows.get(key)?.value ?? null;
      rows.set(key, { owner, done: false, value, until: holdUntil });
      return { state: 'claimed', value };
    },
    async extend(key, owner, holdUntil) {
      if (!owned(key, owner)) return false;
      rows.set(key, { ...live(key)!, until: holdUntil });
      return true;
    },
    async complete(key, owner, { value, keepUntil }) {
      if (!owned(key, owner)) return false;
      rows.set(key, { owner: null, done: true, value, until: keepUntil });
      return true;
    },
    async release(key, owner, keep) {
      if (!owned(key, owner)) return false;
      if (keep) rows.set(key, { owner: null, done: false, value: keep.value, until: keep.keepUntil });
      else rows.delete(key);
      return true;
    },
    completeNow({ key, owner, value, keepUntil }) {
      const row = rows.get(key);
      if (row?.owner === owner) rows.set(key, { owner: null, done: true, value, until: keepUntil });
    },
  };
}

export function memoryRecords(state: MemoryState): RecordStore {
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
      return ids.filter((id) => entries.get(id)?.cancelRequested);
    },
    async purge(olderThan = state.retention) {
      const now = clock.now();
      let count = 0;
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
  const beats = new Map<string, WorkerBeat>();
  return {
    async heartbeat(beat) {
      beats.set(beat.id, beat);
    },
    async list(seenSince) {
      return [...beats.values()]
        .filter((beat) => beat.seenAt >= seenSince)
        .sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      beats.delete(id);
    },
  };
}
