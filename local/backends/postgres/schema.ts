/** How the tables and functions come to be: all at once, or from those of a version that was released. */

import { batchFunctions } from './batches-sql.ts';
import { enqueueFunctions } from './enqueue-sql.ts';
import { leaseFunctions } from './functions.ts';
import { groupFunctions } from './group-sql.ts';
import { limitFunctions } from './limits-sql.ts';
import { rareFunctions } from './maintenance.ts';
import { recordFunction } from './rows.ts';
import { statsFunctions } from './stats-sql.ts';
import { tables } from './tables-sql.ts';
import { from10 } from './upgrade-sql.ts';

/** In place of those that are there. */
const functions = (s: string): string =>
  [
    ...[rareFunctions, enqueueFunctions, leaseFunctions, groupFunctions, limitFunctions, batchFunctions],
    ...[statsFunctions, recordFunction, outboxFunction],
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
