import type { KeyStore } from '../../../core/contract/store.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** What Postgres cannot store, or would store alike for different keys: U+0000 and lone surrogates. */
const unstorable = /[\\\0\p{Surrogate}]/u;

/** A key as it is stored; different keys stay different. */
export function storedKey(key: string): string {
  if (!unstorable.test(key)) return key;
  return key.replace(
    new RegExp(unstorable, 'gu'),
    (character) => `\\${character.charCodeAt(0).toString(16)};`,
  );
}

/** Callers give moments of their own clock. The database gets how far away these are, and applies its own clock. */
export function postgresKeys(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): KeyStore {
  const { db, clock } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const owned = `key = $2 AND owner = $3 AND hold_until > ${now}`;
  const away = (moment: number): number => Math.ceil(moment - clock.now());

  async function write(sql: string, values: unknown[]): Promise<boolean> {
    return (await db.query('writing a key', `${sql} RETURNING 1`, values)).length === 1;
  }

  return {
    async claim(key, owner, holdUntil) {
      const calledAt = clock.now();
      const sql = `SELECT state, value, remaining FROM ${s}.claim_key($1, $2, $3, $4)`;
      const [row] = await db.query('claiming a key', sql, [
        state.at(),
        storedKey(key),
        owner,
        away(holdUntil),
      ]);
      const [found, value, remaining] = row as [string, string | null, string];
      if (found === 'running') return { state: 'running', until: calledAt + Number(remaining) };
      return { state: found === 'completed' ? 'completed' : 'claimed', value };
    },
    extend: (key, owner, holdUntil) =>
      write(`UPDATE ${s}.keys SET hold_until = ${now} + $4 WHERE ${owned}`, [
        state.at(),
        storedKey(key),
        owner,
        away(holdUntil),
      ]),
    complete: (key, owner, { value, keepUntil }) =>
      write(
        `UPDATE ${s}.keys SET owner = NULL, hold_until = 0, done = true, value = $5, keep_until = ${now} + $4 WHERE ${owned}`,
        [state.at(), storedKey(key), owner, away(keepUntil), value],
      ),
    release: (key, owner, left) =>
      left
        ? write(
            `UPDATE ${s}.keys SET owner = NULL, hold_until = 0, value = $5, keep_until = ${now} + $4 WHERE ${owned}`,
            [state.at(), storedKey(key), owner, away(left.keepUntil), left.value],
          )
        : write(`DELETE FROM ${s}.keys WHERE ${owned}`, [state.at(), storedKey(key), owner]),
  };
}
