import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { removeSome, timeOf } from './sql.ts';

/** What became the table of texts with version 14. @param s the schema's name, quoted */
export const stepTable = (s: string): string => `
  CREATE TABLE ${s}.steps (
    name text COLLATE "C" PRIMARY KEY, version text NOT NULL, ends_at bigint NOT NULL, text text NOT NULL
  );
  CREATE INDEX steps_ends_at ON ${s}.steps (ends_at);`;

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
 * One table of texts: that of steps, whose names stay, and what three others have kept. A row is written over many times, and with room in the
 * page it stays there and touches no index. Processes of version 13 may still run. They find their steps in a view. They find no schedule
 * and no entry of the audit log, and can write none. Their heartbeats go into the old table, which a later migration drops.
 */
export const textTable = (s: string): string => `
  ALTER TABLE ${s}.steps RENAME TO texts;
  ALTER INDEX ${s}.steps_ends_at RENAME TO texts_ends_at;
  ALTER TABLE ${s}.texts ALTER ends_at DROP NOT NULL, ADD COLUMN written_at bigint;
  ALTER TABLE ${s}.texts SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
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
  CREATE VIEW ${s}.audit AS SELECT 0::bigint AS at, ''::text AS id, ''::text AS entry WHERE false;`;

/** One step of a purge: how many texts past the time `now` it removed. */
export const purgeTexts = (s: string, now: string): string =>
  removeSome(`${s}.texts`, 'name', `ends_at <= (SELECT ${now}) ORDER BY ends_at`);

/** `$1` is the caller's time, or NULL for the database's. */
export const textStatements = (table: string) => {
  const now = timeOf('$1');
  const columns = `text, version, ${now} - written_at, name`;
  return {
    read: `SELECT ${columns} FROM ${table} WHERE name = $2`,
    readAll: `SELECT ${columns} FROM ${table} WHERE name = ANY ($2::text[])`,
    add: `INSERT INTO ${table} (name, version, ends_at, written_at, text) VALUES ($2, $3, $4, ${now}, $5)
      ON CONFLICT (name) DO NOTHING RETURNING 1`,
    replace: `UPDATE ${table} SET version = $3, ends_at = $4, written_at = ${now}, text = $5
      WHERE name = $2 AND version = $6 RETURNING 1`,
    // A text that is there already is left alone: it would only become a dead row and a live one.
    put: `INSERT INTO ${table} AS t (name, version, ends_at, written_at, text)
      SELECT name, version, nullif(ends_at, -1), ${now}, text
      FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) x (name, version, ends_at, text)
      ON CONFLICT (name) DO UPDATE SET version = excluded.version, ends_at = excluded.ends_at, written_at = excluded.written_at,
        text = excluded.text
      WHERE (t.text, t.ends_at) IS DISTINCT FROM (excluded.text, excluded.ends_at)`,
    remove: `DELETE FROM ${table} WHERE name = $1 AND version = $2 RETURNING name`,
    // In the order of the names: two that lock the same rows wait for each other, and never both.
    removeAll: `DELETE FROM ${table} WHERE name = ANY (ARRAY(
      SELECT name FROM ${table} WHERE name = ANY ($1::text[]) ORDER BY name FOR UPDATE)) RETURNING name`,
    list: (than: '>' | '>=', only: '' | 'containing') => `
      SELECT ${columns} FROM ${table} WHERE name ${than} $2 AND name < $3 ${only && 'AND position($5 IN name) > 0'}
      ORDER BY name LIMIT $4`,
  };
};
