import type { KeyCompletion } from '../../../core/contract.ts';
import type { KeyStore } from '../../../core/store.ts';
import type { SqliteState } from './index.ts';

interface KeyRow {
  readonly owner: string | null;
  readonly done: number;
  readonly value: string | null;
  readonly until: number;
}

export interface SqliteKeys extends KeyStore {
  /** Inside the transaction of an ack, which has already proved the ownership of the lease. */
  completeNow(done: KeyCompletion): void;
}

export function sqliteKeys({ db, clock }: SqliteState): SqliteKeys {
  const read = db.prepare('SELECT owner, done, value, until FROM keys WHERE key = ?');
  const take = db.prepare(`
    INSERT INTO keys (key, owner, done, value, until) VALUES (?1, ?2, 0, NULL, ?3)
    ON CONFLICT (key) DO UPDATE SET owner = ?2, done = 0, until = ?3, value = CASE WHEN done THEN NULL ELSE value END`);
  const owned = 'key = ?1 AND owner = ?2 AND until > ?3';
  const extend = db.prepare(`UPDATE keys SET until = ?4 WHERE ${owned}`);
  const complete = db.prepare(
    `UPDATE keys SET owner = NULL, done = 1, value = ?4, until = ?5 WHERE ${owned}`,
  );
  const completeWithAck = db.prepare(
    'UPDATE keys SET owner = NULL, done = 1, value = ?3, until = ?4 WHERE key = ?1 AND owner = ?2',
  );
  const keep = db.prepare(`UPDATE keys SET owner = NULL, value = ?4, until = ?5 WHERE ${owned}`);
  const remove = db.prepare(`DELETE FROM keys WHERE ${owned}`);
  const write = (work: () => { changes: number | bigint }): boolean =>
    db.run('writing a key', work).changes === 1;

  return {
    async claim(key, owner, holdUntil) {
      const now = clock.now();
      return db.transaction('claiming a key', () => {
        const row = read.get(key) as KeyRow | undefined;
        if (row && row.until > now) {
          if (row.done) return { state: 'completed', value: row.value };
          if (row.owner !== null && row.owner !== owner) return { state: 'running', until: row.until };
        }
        take.run(key, owner, holdUntil);
        return { state: 'claimed', value: row && !row.done ? row.value : null };
      });
    },
    async extend(key, owner, holdUntil) {
      return write(() => extend.run(key, owner, clock.now(), holdUntil));
    },
    async complete(key, owner, { value, keepUntil }) {
      return write(() => complete.run(key, owner, clock.now(), value, keepUntil));
    },
    async release(key, owner, left) {
      const now = clock.now();
      return write(() =>
        left ? keep.run(key, owner, now, left.value, left.keepUntil) : remove.run(key, owner, now),
      );
    },
    completeNow: ({ key, owner, value, keepUntil }) => void completeWithAck.run(key, owner, value, keepUntil),
  };
}
