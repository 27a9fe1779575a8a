import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import type { SqliteState } from './state.ts';

export function sqliteWorkers({ db }: Pick<SqliteState, 'db'>): WorkerRegistry {
  const upsert = db.prepare(`
    INSERT INTO workers (id, seen_at, beat) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat`);
  const forget = db.prepare('DELETE FROM workers WHERE seen_at < ?');
  const select = db.prepare('SELECT beat FROM workers WHERE seen_at >= ?');
  const remove = db.prepare('DELETE FROM workers WHERE id = ?');
  return workerRegistry({
    write: async ({ id, seenAt }, text, goneBefore) =>
      db.transaction('writing a heartbeat', () => {
        upsert.run(id, seenAt, text);
        forget.run(goneBefore);
      }),
    read: async (seenSince) =>
      db.run('listing workers', () => select.all(seenSince)).map((row) => row.beat as string),
    remove: async (id) => db.run('removing a worker', () => remove.run(id)),
  });
}
