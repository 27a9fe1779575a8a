import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { createSchemas } from '../services/postgres/schemas.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import { describeStore } from '../testing/laws/store.ts';
import { postgresHarness } from './postgres-harness.ts';

const schemas = await createSchemas();
// Connecting takes longer than most laws: they share the connections of two pools that outlive them.
const pools = [1, 2].map(() => new pg.Pool({ connectionString: schemas.url }));

afterAll(async () => {
  for (const pool of pools) await pool.end();
  await schemas.drop();
});

const harness = postgresHarness(schemas, [{ pool: pools[0] }, { pool: pools[1] }]);

describeBackend('postgres()', harness, { describe, it });
describeStore('postgres()', harness, { describe, it });
