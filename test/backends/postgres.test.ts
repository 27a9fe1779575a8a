import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { postgres } from '../../local/backends/postgres/index.ts';
import { describeBackend } from '../contract/backend.ts';
import type { Harness } from '../contract/harness.ts';
import { describeModel } from '../contract/model.ts';
import { describeStore } from '../contract/store.ts';
import { createSchemas } from '../postgres/schemas.ts';
import { createVirtualClock } from '../virtual-clock.ts';

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
        schemas.giveBack(schema);
      },
    };
  },
});

const asUsersDo = harness([{ url }, { url }]);
const overSharedPools = harness([{ pool: pools[0] }, { pool: pools[1] }]);

describeBackend('postgres()', asUsersDo, { describe, it });
describeStore('postgres()', asUsersDo, { describe, it });
describeModel('postgres()', overSharedPools, { describe, it: (name, body) => it(name, body, 600_000) });
