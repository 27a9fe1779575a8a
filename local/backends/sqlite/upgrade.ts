/** By the version of a release, what brings its file to the tables of today. */

import { auditKeepMs } from '../../../core/kit/records/audit-log.ts';

const dayMs = 86_400_000;
/** Any word is a version: it was never there. */
const moved = `'moved'`;
/** As core/kit/records/metric-rows.ts does. */
const withoutSpaces = (name: string): string => `replace(replace(${name}, '%', '%25'), ' ', '%20')`;
const moment = (at: string): string => `printf('%016d', ${at})`;

/** As core/kit/texts/audit.ts does: a moment backwards, then the id with each of its letters backwards. */
const places = `
  WITH RECURSIVE flipped (at, id, entry, rest, place) AS (
    SELECT at, id, entry, id, printf('%016d', 9999999999999999 - at) FROM audit
    UNION ALL
    SELECT at, id, entry, substr(rest, 2), place || char(159 - unicode(rest)) FROM flipped WHERE rest <> ''
  )`;
const auditEnd = `at + ${auditKeepMs + dayMs}`;

export const upgrades: ReadonlyMap<number, string> = new Map([
  [
    8, // version 0.1.0, which kept what is a text now in tables of their own
    `
  CREATE TABLE texts (name TEXT PRIMARY KEY, version TEXT NOT NULL, ends_at INTEGER, text TEXT NOT NULL) STRICT;
  CREATE INDEX texts_ends_at ON texts (ends_at) WHERE ends_at IS NOT NULL;
  INSERT INTO texts (name, version, ends_at, text) SELECT name, version, ends_at, text FROM steps;
  INSERT INTO texts (name, version, text)
    SELECT 'schedule/' || name, version, coalesce(next_at, '') || char(10) || text FROM schedules;
  INSERT INTO texts (name, version, text)
    SELECT 'due/' || ${moment('next_at')} || '.' || name, ${moved}, '0' FROM schedules WHERE next_at IS NOT NULL;
  INSERT INTO texts (name, version, ends_at, text)
    SELECT 'metric/' || step || ' ' || ${moment('at')} || ' ' || ${withoutSpaces('queue')} || ' ' || ${withoutSpaces('job')} || ' ' || source, ${moved},
      at + CASE step WHEN 'minute' THEN ${4 * dayMs} WHEN 'hour' THEN ${41 * dayMs} ELSE ${401 * dayMs} END, body
    FROM metrics;
  INSERT INTO texts (name, version, ends_at, text)
    ${places} SELECT 'audit/' || place || char(127), ${moved}, ${auditEnd}, entry FROM flipped WHERE rest = '';
  INSERT INTO texts (name, version, ends_at, text)
    ${places} SELECT 'audit-id/' || id, ${moved}, ${auditEnd}, place || char(127) FROM flipped WHERE rest = '';
  INSERT INTO texts (name, version, ends_at, text)
    SELECT 'worker/' || id, ${moved}, seen_at + 3600000, '{"beat":' || beat || ',"lagMs":0' || iif(drain, ',"drain":true', '') || '}'
    FROM workers;
  DROP TABLE steps; DROP TABLE schedules; DROP TABLE metrics; DROP TABLE audit; DROP TABLE workers;`,
  ],
]);
