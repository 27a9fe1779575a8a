/** How the tables and functions come to be: all at once, or from those of a version that was released. */

import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { batchFunctions } from './batches-sql.ts';
import { enqueueFunctions } from './enqueue-sql.ts';
import { leaseFunctions } from './functions.ts';
import { groupFunctions } from './group-sql.ts';
import { limitFunctions } from './limits-sql.ts';
import { rareFunctions } from './maintenance.ts';
import { recordFunction } from './rows.ts';
import { rewritten, tables } from './tables-sql.ts';

/** From the tables of version 0.1.0 to today's. */
const dayMs = 86_400_000;
const moment = (at: string): string => `lpad((${at})::text, 16, '0')`;

/** The letters of an id, and each of them backwards, as core/kit/texts/audit.ts has it. */
const letters = Array.from({ length: 0x7e - 0x21 + 1 }, (_, i) => String.fromCharCode(0x21 + i));
const quoted = (text: string): string => `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
const flipped = `translate(id, ${quoted(letters.join(''))}, ${quoted(letters.toReversed().join(''))})`;
const place = `${moment('9999999999999999 - at')} || ${flipped} || chr(127)`;
const auditEnd = `at + ${auditKeepMs + dayMs}`;
/** Any word is a version: it was never there. */
const version = `'moved'`;

/**
 * The table of steps becomes that of all texts, and the names of steps stay. Processes of version 0.1.0 may still run. They find their steps in
 * a view. They find no schedule and no entry of the audit log, and can write none. Their heartbeats go into the old table.
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
  DROP FUNCTION ${s}.revive;`;

/** In place of those that are there. */
const functions = (s: string): string =>
  [
    ...[rareFunctions, enqueueFunctions, leaseFunctions, groupFunctions, limitFunctions, batchFunctions],
    ...[recordFunction, outboxFunction],
  ]
    .map((part) => part(s))
    .join('\n');

/** Writes rows of the outbox, with one parameter of text, so that it may be called in the transaction of any driver. */
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

/** A publication of all tables, as for change data capture, refuses to change rows of a table that has nothing to name them by. */
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

/** Counted up with every change of `tables` and of the functions. */
export const schemaVersion = 14;

/** Of a new schema. @param s the schema's name, quoted */
export const create = (s: string): string => `${tables(s)} ${functions(s)} ${replicaIdentities(s)}`;

/**
 * By the version of a release, what brings its tables to `schemaVersion`. During a roll-out processes of both run, so keep what those of the
 * release call. Version 10 is that of 0.1.0.
 */
export const upgrades: ReadonlyMap<number, (s: string) => string> = new Map([
  [10, (s) => `${from10(s)} ${functions(s)} ${replicaIdentities(s)}`],
]);
