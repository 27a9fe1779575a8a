import type { MetricRow, MetricStore } from '../../../core/contract/metrics.ts';
import { stepSize } from './schema.ts';
import type { SqliteState } from './state.ts';

/** Statements are prepared when they are used, so that a worker that counts nothing does not pay for them. */
export function sqliteMetrics({ db }: Pick<SqliteState, 'db'>): MetricStore {
  return {
    async write(rows) {
      const upsert = db.prepare(`
        INSERT INTO metrics (step, at, queue, job, source, body) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET body = excluded.body`);
      for (let i = 0; i < rows.length; i += stepSize) {
        // In steps, so that other processes and the jobs of this one run in between.
        if (i > 0) await new Promise(setImmediate);
        db.transaction('writing numbers', () => {
          for (const { step, at, queue, job, source, body } of rows.slice(i, i + stepSize))
            upsert.run(step, at, queue, job, source, body);
        });
      }
    },
    async read({ step, from, to, queue, job }) {
      const where = ['step = ? AND at >= ? AND at < ?'];
      const values: (string | number)[] = [step, from, to];
      if (queue !== undefined) where.push('queue = ?') && values.push(queue);
      if (job !== undefined) where.push('job = ?') && values.push(job);
      const sql = `SELECT step, at, queue, job, source, body FROM metrics WHERE ${where.join(' AND ')}`;
      const found = db.run('reading numbers', () => db.prepare(sql).all(...values));
      return found.map((row) => ({ ...row })) as unknown as MetricRow[];
    },
    async purge(step, before) {
      const remove = db.prepare(`
        DELETE FROM metrics WHERE (step, at, queue, job, source) IN (
          SELECT step, at, queue, job, source FROM metrics WHERE step = ? AND at < ? LIMIT ${stepSize})`);
      return Number(db.run('purging numbers', () => remove.run(step, before)).changes);
    },
  };
}
