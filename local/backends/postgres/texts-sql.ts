import { removeSome, timeOf } from './sql.ts';

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
