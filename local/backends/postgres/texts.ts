import { randomUUID } from 'node:crypto';
import { slices } from '../../../core/base/slices.ts';
import type { NamedText, TextStore, TextWrite } from '../../../core/contract/texts.ts';
import { boundsOf } from '../shared/text-range.ts';
import { bigintArray, textArray } from './arrays.ts';
import type { Row } from './client.ts';
import { keyOf, storedKey } from './keys.ts';
import { removeSome, stepSize, timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** One step of a purge: returns how many expired texts it removed. */
export const purgeTexts = (s: string, now: string): string =>
  removeSome(`${s}.texts`, 'name', `ends_at <= (SELECT ${now}) ORDER BY ends_at`);

/** `$1` is the caller's time; NULL = the database's. */
const textStatements = (table: string) => {
  const now = timeOf('$1');
  const columns = `text, version, ${now} - written_at, name`;
  return {
    read: `SELECT ${columns} FROM ${table} WHERE name = $2`,
    readAll: `SELECT ${columns} FROM ${table} WHERE name = ANY ($2::text[])`,
    add: `INSERT INTO ${table} (name, version, ends_at, written_at, text) VALUES ($2, $3, $4, ${now}, $5)
      ON CONFLICT (name) DO NOTHING RETURNING 1`,
    replace: `UPDATE ${table} SET version = $3, ends_at = $4, written_at = ${now}, text = $5
      WHERE name = $2 AND version = $6 RETURNING 1`,
    // An unchanged text is not written: that would only leave a dead row.
    put: `INSERT INTO ${table} AS t (name, version, ends_at, written_at, text)
      SELECT name, version, nullif(ends_at, -1), ${now}, text
      FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) x (name, version, ends_at, text)
      ON CONFLICT (name) DO UPDATE SET version = excluded.version, ends_at = excluded.ends_at, written_at = excluded.written_at,
        text = excluded.text
      WHERE (t.text, t.ends_at) IS DISTINCT FROM (excluded.text, excluded.ends_at)`,
    remove: `DELETE FROM ${table} WHERE name = $1 AND version = $2 RETURNING name`,
    // Sorted by name, so that two calls that lock the same rows cannot deadlock.
    removeAll: `DELETE FROM ${table} WHERE name = ANY (ARRAY(
      SELECT name FROM ${table} WHERE name = ANY ($1::text[]) ORDER BY name FOR UPDATE)) RETURNING name`,
    list: (than: '>' | '>=', only: '' | 'containing') => `
      SELECT ${columns} FROM ${table} WHERE name ${than} $2 AND name < $3 ${only && 'AND position($5 IN name) > 0'}
      ORDER BY name LIMIT $4`,
  };
};

export function postgresTexts({ db, at }: Pick<PostgresState, 'db' | 'at'>): TextStore {
  const { within: _, ...texts } = textsIn(db.schema, at, (during, text, values) =>
    db.query(during, text, values),
  );
  return {
    ...texts,
    within: (tx) =>
      textsIn(db.schema, at, async (_, text, values) => {
        const { rows } = await tx.query(text, values);
        return rows.map((row) => Object.values(row as object));
      }),
  };
}

function textsIn(
  schema: string,
  at: PostgresState['at'],
  query: (during: string, text: string, values: unknown[]) => Promise<Row[]>,
): TextStore {
  const sql = textStatements(`${schema}.texts`);
  const during = 'writing texts';

  const textOf = ([text, version, agoMs, name]: Row): NamedText => ({
    name: keyOf(name as string),
    text: text as string,
    version: version as string,
    ...(agoMs !== null && { agoMs: Math.max(0, Number(agoMs)) }),
  });

  async function writeOne({ name, text, ifVersion, endsAt }: TextWrite): Promise<string | null> {
    const version = randomUUID();
    const values = [at(), storedKey(name), version, endsAt, text];
    const rows =
      ifVersion === null
        ? await query(during, sql.add, values)
        : await query(during, sql.replace, [...values, ifVersion]);
    return rows.length === 1 ? version : null;
  }

  /** Writes texts over any version. */
  async function put(texts: readonly TextWrite[]): Promise<void> {
    const sorted = texts
      .map(({ name, ...text }) => ({ name: storedKey(name), ...text }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const some of slices(sorted, stepSize))
      await query(during, sql.put, [
        at(),
        textArray(some.map(({ name }) => name)),
        textArray(some.map(() => randomUUID())),
        bigintArray(some.map(({ endsAt }) => endsAt ?? -1)),
        textArray(some.map(({ text }) => text)),
      ]);
  }

  return {
    async read(names) {
      const stored = names.map(storedKey);
      if (stored.length === 0) return [];
      const [statement, value] = stored.length === 1 ? [sql.read, stored[0]] : [sql.readAll, stored];
      const found = new Map(
        (await query('reading texts', statement, [at(), value])).map((row) => [row[3], row]),
      );
      return stored.map((name) => {
        const row = found.get(name);
        if (!row) return null;
        const { name: _, ...text } = textOf(row);
        return text;
      });
    },
    async write(texts) {
      await put(texts.filter(({ ifVersion }) => ifVersion === undefined));
      const versions: (string | null)[] = [];
      // The version of a text that was put is unknown, because it may have been unchanged: a random one never matches.
      for (const text of texts)
        versions.push(text.ifVersion === undefined ? randomUUID() : await writeOne(text));
      return versions;
    },
    async remove(removals) {
      const any = removals
        .filter(({ ifVersion }) => ifVersion === undefined)
        .map(({ name }) => storedKey(name));
      const rows = any.length > 0 ? await query(during, sql.removeAll, [any]) : [];
      const gone = new Set(rows.map(([name]) => name));
      for (const { name, ifVersion } of removals)
        if (ifVersion !== undefined)
          for (const [removed] of await query(during, sql.remove, [storedKey(name), ifVersion]))
            gone.add(removed);
      return removals.map(({ name }) => gone.has(storedKey(name)));
    },
    async list({ containing, max, ...range }) {
      const bounds = boundsOf(range);
      if (!bounds) return [];
      const { from, hasFrom, to } = bounds;
      const statement = sql.list(hasFrom ? '>=' : '>', containing === undefined ? '' : 'containing');
      const only = containing === undefined ? [] : [storedKey(containing)];
      const values = [at(), storedKey(from), storedKey(to), max, ...only];
      return (await query('listing texts', statement, values)).map(textOf);
    },
  };
}
