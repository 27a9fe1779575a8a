/** What the tests of transactions share: a database with a table of effects, and apps and workers on it. */

import pg from 'pg';
import * as z from 'zod';
import type { Clock } from '../../../core/base/clock.ts';
import {
  type AppOptions,
  connect,
  createApp,
  defineJob,
  type Job,
  keyRing,
  type LongshoreEvent,
  startWorker,
  type Worker,
  type WorkerOptions,
} from '../../../core/index.ts';
import { type PostgresOptions, postgres } from '../../../local/backends/postgres/index.ts';
import { eventsIn } from '../../kit/events.ts';
import { createSchemas } from './schemas.ts';

export const anything = z.any();
/** Does nothing, with any payload. */
export const plain: Job = defineJob({ name: 'plain', payload: anything, handle: () => {} });

export interface BenchOptions extends Omit<PostgresOptions, 'url' | 'pool' | 'schema'> {
  /** Of the app, for the timeouts of its jobs. */
  readonly appClock?: Clock;
  /** Connections of the backend's pool. @default 10 */
  readonly connections?: number;
  readonly use?: AppOptions['use'];
}

export async function createStage() {
  const schemas = await createSchemas();
  const { url } = schemas;
  const admin = new pg.Pool({ connectionString: url, max: 3 });
  await admin.query('CREATE TABLE effects (id serial PRIMARY KEY, name text NOT NULL)');
  const closing: (() => Promise<unknown>)[] = [];

  return {
    url,
    /** On a connection that no backend uses. */
    async rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
      return (await admin.query(sql, values)).rows;
    },
    effects: async () =>
      (await admin.query('SELECT name FROM effects ORDER BY id')).rows.map(({ name }) => name as string),
    /** A connection of the application's. */
    async client(): Promise<pg.Client> {
      const client = new pg.Client(url);
      await client.connect();
      closing.push(() => client.end());
      return client;
    },
    /** An app with a schema of its own; `plain` is among its jobs. */
    async bench(
      jobs: readonly Job[] = [],
      { connections = 10, appClock, use = [], ...options }: BenchOptions = {},
    ) {
      const schema = await schemas.take();
      const pool = new pg.Pool({ connectionString: url, max: connections });
      const backend = postgres({ pool, schema, ...options });
      const events: LongshoreEvent[] = [];
      const app = createApp({
        jobs: [plain, ...jobs],
        queues: { first: {}, other: {}, apart: {}, a: {}, b: {} },
        use,
        ...(appClock && { clock: appClock }),
        signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
        on: (event) => events.push(event),
      });
      const client = connect(app, backend);
      const workers: Worker[] = [];
      closing.push(async () => {
        for (const worker of workers) await worker.stop();
        await backend.close();
        await pool.end();
        schemas.release(schema);
      });
      return {
        schema,
        pool,
        app,
        backend,
        client,
        events,
        eventsOf: eventsIn(events),
        start(how: Partial<WorkerOptions> = {}): Worker {
          const worker = startWorker(app, { backend, drainMs: 100, ...how });
          workers.push(worker);
          return worker;
        },
        /** Ready, delayed, leased and dead jobs of the default queue. */
        async counts(): Promise<number[]> {
          const [stats] = await backend.admin!.stats('default');
          return stats ? [stats.ready, stats.delayed, stats.leased, stats.dead] : [0, 0, 0, 0];
        },
      };
    },
    /** Between tests. */
    async clear(): Promise<void> {
      for (const close of closing.splice(0).reverse()) await close();
      await admin.query('DELETE FROM effects');
    },
    async drop(): Promise<void> {
      await admin.end();
      await schemas.drop();
    },
  };
}

export type Stage = Awaited<ReturnType<typeof createStage>>;
export type Bench = Awaited<ReturnType<Stage['bench']>>;
