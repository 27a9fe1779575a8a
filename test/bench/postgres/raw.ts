/**
 * The ceiling: plain SQL over `pg` that is as durable as a queue must be. A claim is an update, so that the jobs of a
 * worker that dies come back, and one statement deletes the last batch and claims the next.
 */

import pg from 'pg';
import { bodies } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';

interface RawOptions {
  /** Jobs per claim. @default as many as there are slots */
  readonly batch?: number;
  /** Tell listeners of each job. */
  readonly notify?: boolean;
}

export const raw =
  ({ batch, notify = false }: RawOptions) =>
  async (place: Place): Promise<Opened> => {
    const { url, schema } = place;
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    await pool.query(tables(schema));
    const bodyOf = await bodies();
    const sql = statements(schema);
    const insertOne = notify ? sql.insertAndNotify : sql.insertOne;
    const claim = async (done: readonly string[], max: number): Promise<Claimed[]> => {
      const { rows } = await pool.query<Claimed>({
        name: 'claim',
        text: sql.claim,
        values: [done, 'bench', max],
      });
      return rows;
    };

    return {
      sendOne: (n, at) => pool.query({ name: 'one', text: insertOne, values: ['bench', bodyOf(n, at)] }),
      sendMany(from, count, delayMs) {
        const bodies = Array.from({ length: count }, (_, i) => bodyOf(from + i, 0));
        return pool.query({ name: 'many', text: sql.insertMany, values: ['bench', delayMs / 1000, bodies] });
      },
      async work({ concurrency, count, only }, watch) {
        const max = batch ?? concurrency;
        let ran = 0;
        let done: string[] = [];
        watch.start();
        do {
          const rows = await claim(done, only ? Math.min(max, count - ran) : max);
          done = rows.map(({ id }) => id);
          ran += rows.length;
        } while (done.length > 0);
        watch.stop();
        return ran;
      },
      async listen(handle) {
        const listener = new pg.Client(url);
        await listener.connect();
        let working = Promise.resolve();
        const takeAll = async (): Promise<void> => {
          let done: string[] = [];
          do {
            const rows = await claim(done, 10);
            for (const { body } of rows) handle((JSON.parse(body) as { at: number }).at);
            done = rows.map(({ id }) => id);
          } while (done.length > 0);
        };
        listener.on('notification', () => {
          working = working.then(takeAll);
        });
        await listener.query(`LISTEN ${schema}`);
        return async () => {
          await working;
          await listener.end();
        };
      },
      close: () => pool.end(),
    };
  };

interface Claimed {
  readonly id: string;
  readonly body: string;
}

const tables = (schema: string): string => `
  CREATE SCHEMA IF NOT EXISTS ${schema};
  CREATE TABLE IF NOT EXISTS ${schema}.jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    run_at timestamptz NOT NULL,
    locked_until timestamptz,
    attempt int NOT NULL DEFAULT 0,
    body text NOT NULL);
  CREATE INDEX IF NOT EXISTS jobs_next ON ${schema}.jobs (queue, run_at, id) WHERE locked_until IS NULL`;

const statements = (schema: string) => ({
  insertOne: `INSERT INTO ${schema}.jobs (queue, run_at, body) VALUES ($1, now(), $2)`,
  insertAndNotify: `
    WITH sent AS (INSERT INTO ${schema}.jobs (queue, run_at, body) VALUES ($1, now(), $2))
    SELECT pg_notify('${schema}', '')`,
  insertMany: `
    INSERT INTO ${schema}.jobs (queue, run_at, body)
    SELECT $1, now() + $2 * interval '1 second', body FROM unnest($3::text[]) AS body`,
  claim: `
    WITH done AS (DELETE FROM ${schema}.jobs WHERE id = ANY ($1::bigint[])),
    next AS MATERIALIZED (
      SELECT id FROM ${schema}.jobs WHERE queue = $2 AND locked_until IS NULL AND run_at <= now()
      ORDER BY run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE ${schema}.jobs SET locked_until = now() + interval '30 seconds', attempt = attempt + 1
    WHERE id = ANY (ARRAY (SELECT id FROM next)) RETURNING id, body`,
});
