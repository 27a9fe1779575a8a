import type { MetricRow, MetricStore } from '../../../core/contract/metrics.ts';
import { stepSize } from './schema.ts';
import type { SqliteState } from './state.ts';

/** Between steps, so that the jobs of this process and other processes do not wait for long. */
const othersRun = (): Promise<unknown> => new Promise(setImmediate);

/** Statements are prepared when they are used, so that a worker that counts nothing does not pay for them. */
export function sqliteMetrics({ db }: Pick<SqliteState, 'db'>): MetricStore {
  return {
    async write(rows) {
      const upsert = db.prepare(`
        INSERT INTO metrics (step, at, queue, job, source, body) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET body = excluded.body`);
      for (let i = 0; i < rows.length; i += stepSize) {
        if (i > 0) await othersRun();
        db.transaction('writing numbers', () => {
          for (const { step, at, queue, job, source, body } of rows.slice(i, i + stepSize))
            upsert.run(step, at, queue, job, source, body);
        });
      }
    },
    async read({ step, from, to, queue, job }) {
      const where = ['step = ? AND at < ?'];
      const values: (string | number)[] = [step, to];
      if (queue !== undefined) where.push('queue = ?') && values.push(queue);
      if (job !== undefined) where.push('job = ?') && values.push(job);
      const select = db.prepare(`
        SELECT step, at, queue, job, source, body FROM metrics
        WHERE ${where.join(' AND ')} AND (at, queue, job, source) > (?, ?, ?, ?)
        ORDER BY at, queue, job, source LIMIT ${stepSize}`);
      const rows: MetricRow[] = [];
      // No queue has an empty name, so this is before all rows of that moment.
      let after: (string | number)[] = [from, '', '', ''];
      for (;;) {
        const found = db.run('reading numbers', () => select.all(...values, ...after));
        for (const row of found) rows.push({ ...(row as unknown as MetricRow) });
        if (found.length < stepSize) return rows;
        const { at, queue, job, source } = rows.at(-1)!;
        after = [at, queue, job, source];
        await othersRun();
      }
    },
    async purge(step, before) {
      const remove = db.prepare(`
        DELETE FROM metrics WHERE (step, at, queue, job, source) IN (
          SELECT step, at, queue, job, source FROM metrics WHERE step = ? AND at < ? LIMIT ${stepSize})`);
      return Number(db.run('purging numbers', () => remove.run(step, before)).changes);
    },
  };
}
