/** Brings the schema to the version this code knows. Any number of processes may start together: one does it. */

import { config, LongshoreError } from '../../../core/base/errors.ts';
import { onClient, type Pool, type PostgresClient } from './client.ts';
import { create, schemaVersion, upgrades } from './schema.ts';

export interface MigrationResult {
  /** `null` = there was nothing. */
  readonly from: number | null;
  readonly to: number;
}

/**
 * A session that has looked for a schema in vain may go on believing so within its transaction, although another session has made
 * it since. Taking a lock on a table corrects that, and reading one takes a lock.
 */
export const seeNewSchemas = 'SELECT FROM pg_catalog.pg_namespace LIMIT 0';

/** A migration may take its time, and so may waiting for that of another process. */
const migrationTimeoutMs = 3_600_000;

export async function migrate(pool: Pool, schema: string): Promise<MigrationResult> {
  const before = await versionOf(pool, schema);
  if (before.from === schemaVersion) return before;
  return onClient(pool, async (client) => {
    const run = (text: string, values?: unknown[]) =>
      client.query({ text, ...(values && { values }), query_timeout: migrationTimeoutMs });
    // After waiting for the lock it must read what the other process has committed.
    await run('BEGIN ISOLATION LEVEL READ COMMITTED');
    for (const name of ['statement', 'lock', 'idle_in_transaction_session'])
      await run(`SET LOCAL ${name}_timeout = 0`);
    // Held until the end of this transaction, which also works through pgbouncer.
    await run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`longshore ${schema}`]);
    await run(seeNewSchemas);
    const from = await readVersion(client, schema);
    refuseOthers(schema, from);
    if (from === null) await begin(client, schema);
    const step = from === null ? create : upgrades.get(from);
    if (step) await run(step(schema));
    await run(`UPDATE ${schema}.longshore SET version = $1`, [schemaVersion]);
    await run(`SELECT ${schema}.make_days(NULL)`);
    await run('COMMIT');
    return { from, to: schemaVersion };
  });
}

/** As the schema's owner, where those who use it may make no tables. */
export async function makeDays(pool: Pool, schema: string): Promise<void> {
  await onClient(pool, (client) => client.query(`SELECT ${schema}.make_days(NULL)`));
}

export async function versionOf(pool: Pool, schema: string): Promise<MigrationResult> {
  return onClient(pool, async (client) => {
    const from = await readVersion(client, schema);
    refuseOthers(schema, from);
    return { from, to: schemaVersion };
  });
}

async function readVersion(client: PostgresClient, schema: string): Promise<number | null> {
  const table = `${schema}.longshore`;
  const { rows: found } = await client.query(
    `SELECT to_regclass($1) IS NOT NULL AS found, current_setting('server_encoding') AS encoding, current_database() AS name`,
    [table],
  );
  refuseOtherEncoding(found[0]! as { encoding: string; name: string });
  if (!found[0]!.found) return null;
  const { rows } = await client.query(`SELECT version FROM ${table}`);
  return rows[0] ? Number(rows[0].version) : null;
}

async function begin(client: PostgresClient, schema: string): Promise<void> {
  // Asked first, because a user without the right to create schemas may still own this one.
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS found', [schema]);
  if (!rows[0]!.found) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`CREATE TABLE ${schema}.longshore (version int NOT NULL)`);
  await client.query(`INSERT INTO ${schema}.longshore VALUES (0)`);
}

/** In another encoding what jobs return and throw may be impossible to store, so they could not be settled. */
function refuseOtherEncoding({ encoding, name }: { readonly encoding: string; readonly name: string }): void {
  if (encoding === 'UTF8') return;
  throw config(
    `Database "${name}" has the encoding ${encoding}, which lacks most characters, so jobs that return or throw them could not be settled. Use a database made with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.`,
  );
}

function refuseOthers(schema: string, from: number | null): void {
  if (from === null || from === schemaVersion || upgrades.has(from)) return;
  const [expected, why] =
    from > schemaVersion
      ? [`${schemaVersion} or older`, 'a newer Longshore has migrated it. Upgrade this process.']
      : [schemaVersion, 'no release has made it. Use another schema.'];
  throw new LongshoreError(
    'SCHEMA_VERSION',
    `Expected schema ${schema} at version ${expected}, got ${from}: ${why}`,
  );
}
