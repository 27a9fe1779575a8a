import { slices } from '../../../core/base/slices.ts';
import type { MetricStore } from '../../../core/contract/derived/metrics.ts';
import { lastOfEach } from '../../../core/kit/records/metric-rows.ts';
import { bigintArray, textArray } from './arrays.ts';
import { removeSome, stepSize } from './sql.ts';
import type { PostgresState } from './state.ts';

type Columns = [at: string, queue: string, job: string, source: string, body: string];

export function postgresMetrics({ db }: Pick<PostgresState, 'db'>): MetricStore {
  const table = `${db.schema}.metrics`;
  // An unchanged row is not written: that would only leave a dead row.
  const upsert = `
    INSERT INTO ${table} AS m (step, at, queue, job, source, body)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
    ON CONFLICT (step, at, queue, job, source) DO UPDATE SET body = excluded.body WHERE m.body <> excluded.body`;

  return {
    async write(rows) {
      for (const some of slices(lastOfEach(rows), stepSize)) {
        await db.query('writing numbers', upsert, [
          textArray(some.map(({ step }) => step)),
          bigintArray(some.map(({ at }) => at)),
          textArray(some.map(({ queue }) => queue)),
          textArray(some.map(({ job }) => job)),
          textArray(some.map(({ source }) => source)),
          textArray(some.map(({ body }) => body)),
        ]);
      }
    },
    async read({ step, from, to, queue, job }) {
      const where = ['step = $1 AND at >= $2 AND at < $3'];
      const values: unknown[] = [step, from, to];
      if (queue !== undefined) where.push(`queue = $${values.push(queue)}`);
      if (job !== undefined) where.push(`job = $${values.push(job)}`);
      const sql = `SELECT at, queue, job, source, body FROM ${table} WHERE ${where.join(' AND ')}`;
      const rows = (await db.query('reading numbers', sql, values)) as Columns[];
      return rows.map(([at, queue, job, source, body]) => ({
        step,
        at: Number(at),
        queue,
        job,
        source,
        body,
      }));
    },
    async purge(step, before) {
      const sql = removeSome(table, 'ctid', 'step = $1 AND at < $2 ORDER BY at');
      const [row] = await db.query('purging numbers', sql, [step, before]);
      return Number(row![0]);
    },
  };
}
