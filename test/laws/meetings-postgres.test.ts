import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { postgres } from '../../local/backends/postgres/index.ts';
import { createSchemas } from '../services/postgres/schemas.ts';
import { describeMeetings } from '../testing/meetings/index.ts';
import { meetingSample } from './meeting-sample.ts';

const schemas = await createSchemas();
afterAll(() => schemas.drop());

/** Each process of a world has one of two pools. The connections of one that was killed are cut, and not waited for. */
function poolOf(url: string) {
  const clients = new Set<pg.PoolClient>();
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  pool.on('connect', (client) => {
    clients.add(client);
    client.on('error', () => {});
    client.on('end', () => clients.delete(client));
  });
  pool.on('error', () => {});
  const cut = async () => {
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
    async open(clock) {
      const schema = await schemas.take();
      const pools = [poolOf(schemas.url), poolOf(schemas.url)];
      const openings = pools.map(({ pool }) => postgres({ pool, schema, clock, pollMs: 2_000 }));
      return {
        openings,
        async close() {
          for (const { cut } of pools) await cut();
          schemas.release(schema);
        },
      };
    },
  },
  { describe, it: (name, body) => it(name, body, 300_000) },
  meetingSample(0.01, 0),
);
