import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { describeBackend } from '../../testing/laws/backend.ts';
import type { Harness } from '../../testing/laws/harness.ts';
import { describeModel } from '../../testing/laws/model.ts';
import { describeStore } from '../../testing/laws/store.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { createSchemas } from './schemas.ts';

const schemas = await createSchemas();
const { url } = schemas;
// Connecting takes longer than a random sequence: those share the connections of two pools that outlive them.
const pools = [new pg.Pool({ connectionString: url }), new pg.Pool({ connectionString: url })] as const;

afterAll(async () => {
  for (const pool of pools) await pool.end();
  await schemas.drop();
});

/** Two openings of one schema, each with connections of its own. */
const harness = (connections: readonly [object, object]): Harness => ({
  async open(options) {
    const clock = createVirtualClock();
    const schema = await schemas.take();
    const [backend, peer] = connections.map((each) => postgres({ ...each, schema, clock, ...options }));
    return {
      backend: backend!,
      peer: peer!,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend!.close();
        await peer!.close();
        schemas.release(schema);
      },
    };
  },
});

const asUsersDo = harness([{ url }, { url }]);
const overSharedPools = harness([{ pool: pools[0] }, { pool: pools[1] }]);

describeBackend('postgres()', asUsersDo, { describe, it });
describeStore('postgres()', asUsersDo, { describe, it });
describeModel('postgres()', overSharedPools, { describe, it: (name, body) => it(name, body, 600_000) });
