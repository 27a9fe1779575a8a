import { slices } from '../../../core/base/slices.ts';
import type { QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { GroupState } from '../shared/groups.ts';
import { postgresDeadLetters } from './dead-letters.ts';
import { peekedOf } from './rows.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';
import { postgresTransfer } from './transfer.ts';

/** In the order in which a list shows them; those in lines come group by group. */
const part = { ready: 0, inLine: 1, delayed: 2 };

const idsAtOnce = 1_000;

export function postgresAdmin(state: PostgresState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { db } = state;
  const s = db.schema;
  const now = timeOf('$1');

  async function setPaused(queue: string, paused: boolean): Promise<void> {
    const sql = `
      WITH notified AS (SELECT pg_notify($3, $1) WHERE $3::text IS NOT NULL AND NOT $2)
      INSERT INTO ${s}.queues (name, paused) SELECT $1, $2 FROM (SELECT count(*) FROM notified) t
      ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`;
    await db.query(paused ? 'pausing' : 'resuming', sql, [queue, paused, state.channel]);
  }

  return {
    transfer: postgresTransfer(state, maxBodyBytes),
    async stats(only) {
      const sql = `SELECT * FROM ${s}.stats($1, $2)`;
      const rows = await db.query('counting', sql, [state.at(), only ?? null]);
      return rows.map(
        ([queue, ready, delayed, leased, dead, paused, oldest]): QueueStats => ({
          queue: queue as string,
          ready: Number(ready),
          delayed: Number(delayed),
          leased: Number(leased),
          dead: Number(dead),
          paused: paused as boolean,
          oldestReadyMs: oldest === null ? null : Number(oldest),
        }),
      );
    },
    async peek(queue, max) {
      // The time is a query of its own: compared with a running clock, no index could be used. OFFSET 0 keeps the planner from
      // reading all jobs to join them with a few. 1000 is how many delayed jobs a fetch makes ready at most.
      const due = `(SELECT ${now})`;
      const sql = `
        SELECT j.id, j.queue, j.job, j.priority, j.ready_at, j.attempt FROM (
          SELECT * FROM (
            (SELECT id, ${part.ready} AS part, rank AS position, seq FROM ${s}.ready WHERE queue = $2 ORDER BY queue, rank, seq LIMIT $3)
            UNION ALL (SELECT id, ${part.ready}, rank, seq FROM ${s}.delayed WHERE queue = $2 AND ready_at <= ${due}
              ORDER BY queue, ready_at, seq LIMIT $3 + 1000)
            UNION ALL (SELECT id, ${part.inLine}, row_number() OVER (ORDER BY queue, name, state, place, seq), seq FROM ${s}.grouped
              WHERE queue = $2 AND state = ${GroupState.inLine} ORDER BY queue, name, state, place, seq LIMIT $3)
            UNION ALL (SELECT id, ${part.delayed}, ready_at, seq FROM ${s}.delayed WHERE queue = $2 AND ready_at > ${due}
              ORDER BY queue, ready_at, seq LIMIT $3)) waiting
          ORDER BY part, position, seq LIMIT $3) i
        CROSS JOIN LATERAL (SELECT * FROM ${s}.jobs WHERE id = i.id OFFSET 0) j
        ORDER BY i.part, i.position, i.seq`;
      return (await db.query('peeking', sql, [state.at(), queue, max])).map(peekedOf);
    },
    async clear(queue, gone) {
      const waiting = ['ready', 'delayed', 'grouped'].map(
        (table) => `SELECT id FROM ${s}.${table} WHERE queue = $1`,
      );
      const before = gone && (await db.query('clearing', waiting.join(' UNION ALL '), [queue]));
      const [row] = await db.query('clearing', `SELECT ${s}.clear_queue($1)`, [queue]);
      for (const some of slices(before ?? [], idsAtOnce)) {
        const ids = some.map(([id]) => id as string);
        const left = await db.query('clearing', `SELECT id FROM ${s}.jobs WHERE id = ANY($1)`, [ids]);
        const stays = new Set(left.map(([id]) => id));
        await gone!(ids.filter((id) => !stays.has(id)));
      }
      return Number(row![0]);
    },
    async setPaused(queue, isPaused) {
      await setPaused(queue, isPaused);
      if (!isPaused) state.wake(queue);
    },
    deadLetters: postgresDeadLetters(state, maxBodyBytes),
  };
}
