import pg from 'pg';
import { afterAll } from 'vitest';
import { createSchemas } from '../services/postgres/schemas.ts';
import { postgresHarness } from './postgres-harness.ts';
import { describeSequences } from './sequences.ts';

const schemas = await createSchemas();
// Connecting takes longer than a random sequence: they share the connections of two pools that outlive them.
const pools = [1, 2].map(() => new pg.Pool({ connectionString: schemas.url }));

afterAll(async () => {
  for (const pool of pools) await pool.end();
  await schemas.drop();
});

describeSequences('postgres()', postgresHarness(schemas, [{ pool: pools[0] }, { pool: pools[1] }]));
