import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import type { SqliteState } from './index.ts';

/** A worker not seen for a day is gone; its row goes with the next heartbeat of another. */
const forgetMs = 86_400_000;

export function sqliteWorkers({ db }: Pick<SqliteState, 'db'>): WorkerRegistry {
  const upsert = db.prepare(`
    INSERT INTO workers (id, seen_at, beat) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat`);
  const forget = db.prepare('DELETE FROM workers WHERE seen_at < ?');
  const select = db.prepare('SELECT beat FROM workers WHERE seen_at >= ?');
  const remove = db.prepare('DELETE FROM workers WHERE id = ?');
  return {
    async heartbeat(beat) {
      db.transaction('writing a heartbeat', () => {
        upsert.run(beat.id, beat.seenAt, JSON.stringify(beat));
        forget.run(beat.seenAt - forgetMs);
      });
    },
    async list(seenSince) {
      const rows = db.run('listing workers', () => select.all(seenSince));
      const beats = rows.map((row) => JSON.parse(row.beat as string) as WorkerBeat);
      return beats.sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      db.run('removing a worker', () => remove.run(id));
    },
  };
}
