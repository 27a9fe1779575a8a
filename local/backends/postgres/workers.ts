import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import type { PostgresState } from './index.ts';
import { timeOf } from './sql.ts';

/** A worker not seen for a day is gone; its row goes with the next heartbeat of another. */
const forgetMs = 86_400_000;

export function postgresWorkers(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): WorkerRegistry {
  const { db, clock } = state;
  const s = db.schema;
  const now = timeOf('$1');

  async function query(during: string, sql: string, values: unknown[]) {
    await db.ready();
    return db.query(during, sql, values);
  }

  return {
    async heartbeat(beat) {
      const sql = `
        WITH gone AS (DELETE FROM ${s}.workers WHERE seen_at < ${now} - $2::bigint AND id <> $3)
        INSERT INTO ${s}.workers (id, seen_at, beat) VALUES ($3, ${now} + $4, $5)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat`;
      const behindMs = Math.ceil(beat.seenAt - clock.now());
      const values = [state.at(), forgetMs, beat.id, behindMs, JSON.stringify(beat)];
      await query('writing a heartbeat', sql, values);
    },
    async list(seenSince) {
      const sql = `SELECT beat FROM ${s}.workers WHERE seen_at >= ${now} + $2`;
      const rows = await query('listing workers', sql, [state.at(), Math.floor(seenSince - clock.now())]);
      const beats = rows.map(([beat]) => JSON.parse(beat as string) as WorkerBeat);
      return beats.sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      await query('removing a worker', `DELETE FROM ${s}.workers WHERE id = $1`, [id]);
    },
  };
}
