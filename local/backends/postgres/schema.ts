/**
 * Creates the tables and functions, or upgrades them from a released version. Any number of processes may start together: one of them
 * does it.
 */

import { config, LongshoreError } from '../../../core/base/errors.ts';
import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { batchFunctions } from './batches-sql.ts';
import { onClient, type Pool, type PostgresClient } from './client.ts';
import { enqueueFunctions } from './enqueue-sql.ts';
import { leaseFunctions } from './functions.ts';
import { groupFunctions } from './group-sql.ts';
import { limitFunctions } from './limits-sql.ts';
import { rareFunctions } from './maintenance.ts';
import { recordFunction } from './rows.ts';
import { rewritten, tables } from './tables-sql.ts';

const dayMs = 86_400_000;
const moment = (at: string): string => `lpad((${at})::text, 16, '0')`;

/** The letters of an id, which are inverted one by one, as in core/kit/texts/audit.ts. */
const letters = Array.from({ length: 0x7e - 0x21 + 1 }, (_, i) => String.fromCharCode(0x21 + i));
const quoted = (text: string): string => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const flipped = `translate(id, ${quoted(letters.join(''))}, ${quoted(letters.toReversed().join(''))})`;
const place = `${moment('9999999999999999 - at')} || ${flipped} || chr(127)`;
const auditEnd = `at + ${auditKeepMs + dayMs}`;
/** Versions are opaque, so any word that was never a version will do. */
const version = `'moved'`;

/**
 * Upgrades the tables of version 0.1.0. The table of steps becomes the table of all texts; the names of steps stay. Processes of version
 * 0.1.0 may still run. They find their steps in a view. They can neither read nor write schedules and the audit log. Their heartbeats go
 * into the old table.
 *
 * @param s the schema's name, quoted
 */
const from10 = (s: string): string => `
  ALTER TABLE ${s}.outbox ADD COLUMN id text COLLATE "C";
  CREATE INDEX outbox_id ON ${s}.outbox (target, id);
  CREATE INDEX outbox_refused_id ON ${s}.outbox_refused (target, id);

  ALTER TABLE ${s}.steps RENAME TO texts;
  ALTER INDEX ${s}.steps_ends_at RENAME TO texts_ends_at;
  ALTER TABLE ${s}.texts ALTER ends_at DROP NOT NULL, ADD COLUMN written_at bigint;
  ALTER TABLE ${s}.texts SET ${rewritten};
  CREATE VIEW ${s}.steps AS SELECT name, version, ends_at, text FROM ${s}.texts;

  INSERT INTO ${s}.texts (name, version, text)
    SELECT 'schedule/' || name, version, coalesce(next_at::text, '') || chr(10) || body FROM ${s}.schedules;
  INSERT INTO ${s}.texts (name, version, text)
    SELECT 'due/' || ${moment('next_at')} || '.' || name, ${version}, '0' FROM ${s}.schedules WHERE next_at IS NOT NULL;
  INSERT INTO ${s}.texts (name, version, ends_at, text)
    SELECT 'audit/' || ${place}, ${version}, ${auditEnd}, entry FROM ${s}.audit
    UNION ALL SELECT 'audit-id/' || id, ${version}, ${auditEnd}, ${place} FROM ${s}.audit;
  INSERT INTO ${s}.texts (name, version, ends_at, written_at, text)
    SELECT 'worker/' || id, ${version}, seen_at + 3600000, seen_at,
      '{"beat":' || beat || ',"lagMs":0' || CASE WHEN drain THEN ',"drain":true' ELSE '' END || '}'
    FROM ${s}.workers WHERE beat <> '';
  TRUNCATE ${s}.workers;
  DROP TABLE ${s}.schedules, ${s}.audit;
  CREATE VIEW ${s}.schedules AS SELECT ''::text AS name, NULL::bigint AS next_at, ''::text AS version, ''::text AS body WHERE false;
  CREATE VIEW ${s}.audit AS SELECT 0::bigint AS at, ''::text AS id, ''::text AS entry WHERE false;
  DROP FUNCTION ${s}.revive, ${s}.ended_ids;`;

/** Creates or replaces all functions. */
const functions = (s: string): string =>
  [
    ...[rareFunctions, enqueueFunctions, leaseFunctions, groupFunctions, limitFunctions, batchFunctions],
    ...[recordFunction, outboxFunction],
  ]
    .map((part) => part(s))
    .join('\n');

/** Writes rows of the outbox. It has one text parameter, so that it can be called with any driver. */
const outboxFunction = (s: string): string => `
  CREATE OR REPLACE FUNCTION ${s}.write_outbox(request text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE
    r record;
    written int;
  BEGIN
    SELECT * INTO r FROM json_to_record(request::json) AS x (at bigint, target text, channel text, messages json, ids json);
    INSERT INTO ${s}.outbox (id, target, written_at, message)
    SELECT m.id, r.target, coalesce(r.at, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), m.text
    FROM ROWS FROM (json_array_elements_text(r.messages), json_array_elements_text(coalesce(r.ids, '[]')))
      WITH ORDINALITY m (text, id, n) ORDER BY m.n;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF r.channel IS NOT NULL THEN
      PERFORM pg_notify(r.channel, r.target);
    END IF;
    RETURN written;
  END $$;`;

/** With a publication of all tables, as for change data capture, Postgres refuses to change rows of a table without a replica identity. */
const replicaIdentities = (s: string): string => `
  DO $$
  DECLARE
    keyless regclass;
  BEGIN
    FOR keyless IN
      SELECT c.oid FROM pg_class c WHERE c.relnamespace = '${s}'::regnamespace AND c.relkind = 'r' AND c.relreplident = 'd'
        AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
    LOOP
      EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', keyless);
    END LOOP;
  END $$;`;

/** Increased with every change of `tables` and of the functions. */
export const schemaVersion = 17;

/** Creates everything in a new schema. @param s the schema's name, quoted */
export const create = (s: string): string => `${tables(s)} ${functions(s)} ${replicaIdentities(s)}`;

/**
 * By the version of a release, the SQL that upgrades it to `schemaVersion`. During a roll-out processes of both versions run, so keep
 * everything that the older release calls. Version 10 is release 0.1.0.
 */
export const upgrades: ReadonlyMap<number, (s: string) => string> = new Map([
  [10, (s) => `${from10(s)} ${functions(s)} ${replicaIdentities(s)}`],
]);

export interface MigrationResult {
  /** `null` = there were no tables. */
  readonly from: number | null;
  readonly to: number;
}

/**
 * A session that has not found a schema may keep this answer for its transaction, although another session has created the schema since.
 * Taking a lock on a table corrects that, and reading a table takes a lock.
 */
export const seeNewSchemas = 'SELECT FROM pg_catalog.pg_namespace LIMIT 0';

/** A migration may take long, and so may waiting for the migration of another process. */
const migrationTimeoutMs = 3_600_000;

export async function migrate(pool: Pool, schema: string): Promise<MigrationResult> {
  const before = await versionOf(pool, schema);
  if (before.from === schemaVersion) return before;
  return onClient(pool, async (client) => {
    const run = (text: string, values?: unknown[]) =>
      client.query({ text, ...(values && { values }), query_timeout: migrationTimeoutMs });
    // After waiting for the lock it must see the changes of the other process.
    await run('BEGIN ISOLATION LEVEL READ COMMITTED');
    for (const name of ['statement', 'lock', 'idle_in_transaction_session'])
      await run(`SET LOCAL ${name}_timeout = 0`);
    // The lock is held until the end of this transaction, which also works through pgbouncer.
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

/** Run it as the owner of the schema, if its users may not create tables. */
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
  // Looks first, because a user without the right to create schemas may still own this schema.
  const { rows } = await client.query('SELECT to_regnamespace($1) IS NOT NULL AS found', [schema]);
  if (!rows[0]!.found) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query(`CREATE TABLE ${schema}.longshore (version int NOT NULL)`);
  await client.query(`INSERT INTO ${schema}.longshore VALUES (0)`);
}

/** In another encoding some outputs and errors of jobs cannot be stored, so these jobs could not be settled. */
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
