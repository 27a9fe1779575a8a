/** From the tables of version 0.1.0 to today's. */

import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';
import { rewritten } from './tables-sql.ts';

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
export const from10 = (s: string): string => `
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
