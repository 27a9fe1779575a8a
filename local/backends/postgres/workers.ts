import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import { forgetWorkerMs } from '../../../core/kit/worker-state.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** Not `workerRegistry()` of the kit, which compares the workers' own clocks: here the database's clock rules. */
export function postgresWorkers(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): WorkerRegistry {
  const { db, clock, at } = state;
  const s = db.schema;
  const now = timeOf('$1');

  return {
    async heartbeat(beat) {
      const sql = `
        WITH gone AS (DELETE FROM ${s}.workers WHERE seen_at < ${now} - $2::bigint AND id <> $3)
        INSERT INTO ${s}.workers (id, seen_at, beat) VALUES ($3, ${now} + $4, $5)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat`;
      const behindMs = Math.ceil(beat.seenAt - clock.now());
      const values = [at(), forgetWorkerMs, beat.id, behindMs, JSON.stringify(beat)];
      await db.query('writing a heartbeat', sql, values);
    },
    async list(seenSince) {
      const sql = `SELECT beat, seen_at - ${now} FROM ${s}.workers WHERE seen_at >= ${now} + $2`;
      const calledAt = clock.now();
      const values = [at() === null ? null : calledAt, Math.floor(seenSince - calledAt)];
      const rows = await db.query('listing workers', sql, values);
      // In the time of this host: whoever reads compares it with its own clock.
      const beats = rows.map(([beat, agoMs]) => ({
        ...(JSON.parse(beat as string) as WorkerBeat),
        seenAt: calledAt + Number(agoMs),
      }));
      return beats.sort((a, b) => a.startedAt - b.startedAt);
    },
    async remove(id) {
      await db.query('removing a worker', `DELETE FROM ${s}.workers WHERE id = $1`, [id]);
    },
  };
}
