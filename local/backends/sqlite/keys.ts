import type { KeyCompletion } from '../../../core/contract/queue.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

interface KeyRow {
  readonly owner: string | null;
  readonly hold_until: number;
  readonly done: number;
  readonly value: string | null;
  readonly keep_until: number;
}

export interface SqliteKeys extends KeyStore, Purgeable {
  /** Call it inside the transaction of an ack, after the ack has checked the lease. */
  completeNow(done: KeyCompletion): void;
}

export function sqliteKeys({ db, clock }: Pick<SqliteState, 'db' | 'clock'>): SqliteKeys {
  const read = db.prepare('SELECT owner, hold_until, done, value, keep_until FROM keys WHERE key = ?');
  const take = db.prepare(`
    INSERT INTO keys (key, owner, hold_until, done, value, keep_until) VALUES (?, ?, ?, 0, ?, ?)
    ON CONFLICT (key) DO UPDATE SET
      owner = excluded.owner, hold_until = excluded.hold_until, done = 0,
      value = excluded.value, keep_until = excluded.keep_until`);
  const owned = 'key = ? AND owner = ? AND hold_until > ?';
  const extend = db.prepare(`UPDATE keys SET hold_until = ? WHERE ${owned}`);
  const done = 'owner = NULL, hold_until = 0, done = 1, value = ?, keep_until = ?';
  const complete = db.prepare(`UPDATE keys SET ${done} WHERE ${owned}`);
  const completeWithAck = db.prepare(`UPDATE keys SET ${done} WHERE key = ? AND owner = ?`);
  const keep = db.prepare(
    `UPDATE keys SET owner = NULL, hold_until = 0, value = ?, keep_until = ? WHERE ${owned}`,
  );
  const remove = db.prepare(`DELETE FROM keys WHERE ${owned}`);
  const purge = db.prepare(`
    DELETE FROM keys WHERE key IN (
      SELECT key FROM keys WHERE max(hold_until, keep_until) <= ? LIMIT ${stepSize})`);
  const write = (work: () => { changes: number | bigint }): boolean =>
    db.run('writing a key', work).changes === 1;

  return {
    async claim(key, owner, holdUntil) {
      const now = clock.now();
      return db.transaction('claiming a key', () => {
        const row = read.get(key) as KeyRow | undefined;
        const kept = row !== undefined && row.keep_until > now;
        if (kept && row.done) return { state: 'completed', value: row.value };
        if (row && row.owner !== null && row.owner !== owner && row.hold_until > now) {
          return { state: 'running', until: row.hold_until };
        }
        const value = kept ? row.value : null;
        take.run(key, owner, holdUntil, value, kept ? row.keep_until : 0);
        return { state: 'claimed', value };
      });
    },
    async extend(key, owner, holdUntil) {
      return write(() => extend.run(holdUntil, key, owner, clock.now()));
    },
    async complete(key, owner, { value, keepUntil }) {
      return write(() => complete.run(value, keepUntil, key, owner, clock.now()));
    },
    async release(key, owner, left) {
      const now = clock.now();
      return write(() =>
        left ? keep.run(left.value, left.keepUntil, key, owner, now) : remove.run(key, owner, now),
      );
    },
    purgeNow: (now) => Number(purge.run(now).changes),
    completeNow: ({ key, owner, value, keepUntil }) => void completeWithAck.run(value, keepUntil, key, owner),
  };
}
