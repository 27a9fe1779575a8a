import type { WorkerBeat, WorkerRegistry } from '../../../core/contract/store.ts';
import { forgetWorkerMs } from '../../../core/kit/worker-state.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** Not `workerRegistry()` of the kit, which compares the workers' own clocks: here the database's clock rules. */
export function postgresWorkers(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): Required<WorkerRegistry> {
  const { db, clock, at } = state;
  const s = db.schema;
  const now = timeOf('$1');

  return {
    async heartbeat(beat) {
      const sql = `
        WITH gone AS (DELETE FROM ${s}.workers WHERE seen_at < ${now} - $2::bigint AND id <> $3)
        INSERT INTO ${s}.workers AS w (id, seen_at, beat) VALUES ($3, ${now} + $4, $5)
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, beat = excluded.beat
        RETURNING w.drain`;
      const behindMs = Math.ceil(beat.seenAt - clock.now());
      const values = [at(), forgetWorkerMs, beat.id, behindMs, JSON.stringify(beat)];
      const [row] = await db.query('writing a heartbeat', sql, values);
      return { drain: row![0] as boolean };
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
    async drain(id) {
      const sql = `UPDATE ${s}.workers SET drain = true WHERE id = $1 RETURNING 1`;
      return (await db.query('asking a worker to drain', sql, [id])).length === 1;
    },
    async remove(id) {
      await db.query('removing a worker', `DELETE FROM ${s}.workers WHERE id = $1`, [id]);
    },
  };
}
