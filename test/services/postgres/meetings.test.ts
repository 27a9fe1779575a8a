import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { fewMeetings } from '../../laws/meeting-sample.ts';
import { describeMeetings } from '../../testing/meetings/index.ts';
import { createSchemas } from './schemas.ts';

const schemas = await createSchemas();
const side = new pg.Pool({ connectionString: schemas.url, max: 1 });
afterAll(async () => {
  await side.end();
  await schemas.drop();
});

/** Tells of each statement that is under way. */
function watch(client: pg.PoolClient, during: (answer: Promise<unknown>) => unknown): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const watched = (...args: unknown[]): unknown => {
    const then = args.at(-1);
    if (typeof then !== 'function') {
      const answer = query(...args);
      if (answer instanceof Promise) during(answer);
      return answer;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    during(promise);
    return query(...args.slice(0, -1), (...answer: unknown[]) => {
      resolve();
      then(...answer);
    });
  };
  Object.assign(client, { query: watched });
}

/** Each process of a world has one of two pools. The connections of one that was killed are cut, and not waited for. */
function poolOf(url: string, during: (answer: Promise<unknown>) => unknown) {
  const clients = new Set<pg.PoolClient>();
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  const watchedConnect = (): Promise<pg.PoolClient> => {
    const connecting = connect();
    during(connecting);
    return connecting;
  };
  Object.assign(pool, { connect: watchedConnect });
  pool.on('connect', (client) => {
    clients.add(client);
    watch(client, during);
    client.on('error', () => {});
    client.on('end', () => clients.delete(client));
  });
  pool.on('error', () => {});
  /** After it nobody comes back: a worker that did would lease jobs of the world that has the schema next. */
  const cut = async () => {
    void pool.end();
    const ended = [...clients].map((client) => new Promise((resolve) => client.once('end', resolve)));
    for (const client of clients) {
      const { connection } = client as unknown as { connection: { stream: { destroy(): void } } };
      connection.stream.destroy();
    }
    await Promise.all(ended);
  };
  return { pool, cut };
}

describeMeetings(
  'postgres()',
  {
    latencyMs: 4,
    echo: () => side.query('SELECT 1'),
    async open(clock, during) {
      const schema = await schemas.take();
      const pools = [poolOf(schemas.url, during), poolOf(schemas.url, during)];
      const openings = pools.map(({ pool }) => postgres({ pool, schema, clock, pollMs: 2_000 }));
      return {
        openings,
        async begin() {
          const tx = await pools[0]!.pool.connect();
          await tx.query('BEGIN');
          const end = async (how: 'COMMIT' | 'ROLLBACK') => {
            await tx.query(how);
            tx.release();
          };
          return { tx, commit: () => end('COMMIT'), rollback: () => end('ROLLBACK') };
        },
        async close() {
          for (const { cut } of pools) await cut();
          for (const opening of openings) await opening.close();
          schemas.release(schema);
        },
      };
    },
  },
  { describe, it: (name, body) => it(name, body, 300_000) },
  fewMeetings(),
);
