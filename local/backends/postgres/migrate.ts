/** Brings the schema to the version this code knows. Any number of processes may start together: one does it. */

import { LongshoreError } from '../../../core/errors.ts';
import type { Pool, PostgresClient } from './database.ts';
import { migrations } from './schema.ts';

export interface MigrationResult {
  /** `null` = there was nothing. */
  readonly from: number | null;
  readonly to: number;
}

const latest = migrations.length;

export async function migrate(pool: Pool, schema: string): Promise<MigrationResult> {
  const before = await versionOf(pool, schema);
  if (before.from === latest) return before;
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    // Held until the end of this transaction, which also works through pgbouncer.
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`longshore ${schema}`]);
    const from = await readVersion(client, schema);
    refuseNewer(schema, from);
    if (from === null) await create(client, schema);
    for (const step of migrations.slice(from ?? 0)) await client.query(step(schema));
    await client.query(`UPDATE ${schema}.longshore SET version = $1`, [latest]);
    await client.query(`SELECT ${schema}.make_days(NULL)`);
    await client.query('COMMIT');
    client.release();
    return { from, to: latest };
  } catch (error) {
    client.release(true); // ends the transaction, whatever state the connection is in
    throw error;
  }
}

export async function versionOf(pool: Pool, schema: string): Promise<MigrationResult> {
  const client = await pool.connect();
  try {
    const from = await readVersion(client, schema);
    refuseNewer(schema, from);
    return { from, to: latest };
  } finally {
    client.release();
  }
}

async function readVersion(client: PostgresClient, schema: string): Promise<number | null> {
  const table = `${schema}.longshore`;
  const { rows: found } = await client.query('SELECT to_regclass($1) IS NOT NULL AS found', [table]);
  if (!found[0]!.found) return null;
  const { rows } = await client.query(`SELECT version FROM ${table}`);
  return rows[0] ? Number(rows[0].version) : null;
}

async function create(client: PostgresClient, schema: string): Promise<void> {
  // Asked first, because a user without the right to create schemas may still own this one.
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS found', [schema]);
  if (!rows[0]!.found) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`CREATE TABLE ${schema}.longshore (version int NOT NULL)`);
  await client.query(`INSERT INTO ${schema}.longshore VALUES (0)`);
}

function refuseNewer(schema: string, from: number | null): void {
  if (from === null || from <= latest) return;
  throw new LongshoreError(
    'SCHEMA_VERSION',
    `Expected schema ${schema} at version ${latest} or older, got ${from}: a newer Longshore has migrated it. Upgrade this process.`,
  );
}
