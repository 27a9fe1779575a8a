import type { DeadLetter, PeekedMessage, QueueAdmin, QueueStats } from '../../../core/contract/admin.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { JobState } from '../shared/report-lines.ts';
import { deadColumns, peekColumns } from './rows.ts';
import type { SqliteState } from './state.ts';
import { sqliteTransfer } from './transfer.ts';

export function sqliteAdmin(state: SqliteState, maxBodyBytes: number): QueueAdmin & MovableAdmin {
  const { db, clock } = state;
  const dead = `ended IN (${JobState.failed}, ${JobState.expired})`;
  const names = db.prepare('SELECT name FROM queues ORDER BY name');
  const counts = db.prepare(`
    WITH asked (queue, now) AS (SELECT ?, ?)
    SELECT
      (SELECT count(*) FROM ready WHERE queue = asked.queue) AS ready,
      (SELECT count(*) FROM delayed WHERE queue = asked.queue AND ready_at <= now) AS due,
      (SELECT count(*) FROM delayed WHERE queue = asked.queue AND ready_at > now) AS delayed,
      (SELECT count(*) FROM leases WHERE queue = asked.queue) AS leased,
      (SELECT count(*) FROM jobs WHERE ${dead} AND queue = asked.queue) AS dead,
      (SELECT min(ready_at) FROM ready WHERE queue = asked.queue) AS oldest_ready,
      (SELECT min(ready_at) FROM delayed WHERE queue = asked.queue) AS oldest_delayed,
      coalesce((SELECT paused FROM queues WHERE name = asked.queue), 0) AS paused
    FROM asked`);
  const waiting = (order: string, due: string) => `
    SELECT ${peekColumns} FROM job_states WHERE seq IN (
      SELECT seq FROM ready WHERE queue = ? AND ready_at ${due} ?
      UNION ALL SELECT seq FROM delayed WHERE queue = ? AND ready_at ${due} ?)
    ORDER BY ${order}, seq LIMIT ?`;
  const peekReady = db.prepare(waiting('rank', '<='));
  const peekDelayed = db.prepare(waiting('ready_at', '>'));
  const clearJobs = db.prepare(`
    DELETE FROM jobs WHERE seq IN (
      SELECT seq FROM ready WHERE queue = ? UNION ALL SELECT seq FROM delayed WHERE queue = ?)`);
  const clearReady = db.prepare('DELETE FROM ready WHERE queue = ?');
  const clearDelayed = db.prepare('DELETE FROM delayed WHERE queue = ?');
  const setPaused = db.prepare(`
    INSERT INTO queues (name, paused) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET paused = excluded.paused`);
  const revive = db.prepare(`
    UPDATE jobs SET ended = NULL, cancel_requested = 0, finished_at = NULL, attempt = 0, reason = NULL, error = NULL,
      ready_at = ?, rank = ? + priority * ${state.ageingMs}
    WHERE id = ? AND ${dead} RETURNING seq, queue, rank`);
  const discard = db.prepare(`DELETE FROM jobs WHERE id = ? AND ${dead}`);

  function statsOf(queue: string): QueueStats {
    const now = clock.now();
    const row = db.run('counting', () => counts.get(queue, now)) as Record<string, number | null>;
    const oldest = Math.min(row.oldest_ready ?? Infinity, row.oldest_delayed ?? Infinity);
    return {
      queue,
      ready: row.ready! + row.due!,
      delayed: row.delayed!,
      leased: row.leased!,
      dead: row.dead!,
      paused: row.paused === 1,
      oldestReadyMs: oldest <= now ? now - oldest : null,
    };
  }

  return {
    transfer: sqliteTransfer(state, maxBodyBytes),
    async stats(only) {
      const queues = only === undefined ? names.all().map((row) => row.name as string) : [only];
      return queues.map(statsOf);
    },
    async peek(queue, max) {
      const now = clock.now();
      return db.run('peeking', () => {
        const ready = peekReady.all(queue, now, queue, now, max);
        const delayed = peekDelayed.all(queue, now, queue, now, max - ready.length);
        return [...ready, ...delayed].map((row) => ({ ...row }) as unknown as PeekedMessage);
      });
    },
    async clear(queue) {
      return db.transaction('clearing', () => {
        const { changes } = clearJobs.run(queue, queue);
        clearReady.run(queue);
        clearDelayed.run(queue);
        return Number(changes);
      });
    },
    async pause(queue) {
      db.run('pausing', () => setPaused.run(queue, 1));
    },
    async resume(queue) {
      db.run('resuming', () => setPaused.run(queue, 0));
      state.wake();
    },
    deadLetters: {
      async list({ queue, max = 100 }) {
        const where = queue === undefined ? '' : 'AND queue = ?';
        const sql = `SELECT ${deadColumns} FROM job_states WHERE ${dead} ${where}
          ORDER BY finished_at DESC, seq DESC LIMIT ?`;
        const values = queue === undefined ? [max] : [queue, max];
        const rows = db.run('listing', () => db.prepare(sql).all(...values));
        return rows.map((row) => ({ ...row }) as unknown as DeadLetter);
      },
      async retry(ids) {
        const now = clock.now();
        const reviveOne = (id: string): boolean => {
          const job = revive.get(now, now, id) as { seq: number; queue: string; rank: number } | undefined;
          if (job) state.narrowRows.insert({ ...job, readyAt: now, attempt: 0, interrupted: 0 }, now);
          return job !== undefined;
        };
        const count = db.transaction('retrying', () => ids.filter(reviveOne).length);
        if (count > 0) state.wake();
        return count;
      },
      async discard(ids) {
        return db.transaction('discarding', () => ids.filter((id) => discard.run(id).changes === 1).length);
      },
    },
  };
}
