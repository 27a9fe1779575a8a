import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import type { SqliteState } from './state.ts';

export function sqliteWorkers({ db }: Pick<SqliteState, 'db'>): WorkerRegistry {
  const upsert = db.prepare(`
    INSERT INTO workers (id, seen_at, beat) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat
    RETURNING drain`);
  const mark = db.prepare('UPDATE workers SET drain = 1 WHERE id = ?');
  const forget = db.prepare('DELETE FROM workers WHERE seen_at < ?');
  const select = db.prepare('SELECT beat FROM workers WHERE seen_at >= ?');
  const remove = db.prepare('DELETE FROM workers WHERE id = ?');
  return workerRegistry({
    write: async ({ id, seenAt }, text, goneBefore) =>
      db.transaction('writing a heartbeat', () => {
        const { drain } = upsert.get(id, seenAt, text) as { drain: number };
        forget.run(goneBefore);
        return drain === 1;
      }),
    read: async (seenSince) =>
      db.run('listing workers', () => select.all(seenSince)).map((row) => row.beat as string),
    drain: async (id) => db.run('asking a worker to drain', () => mark.run(id)).changes === 1,
    remove: async (id) => db.run('removing a worker', () => remove.run(id)),
  });
}
