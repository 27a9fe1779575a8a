import type { KeyStore } from '../../../core/contract/store.ts';
import { timeOf } from './sql.ts';
import type { PostgresState } from './state.ts';

/** Characters that are escaped: Postgres cannot store U+0000, and would store all lone surrogates alike. */
const unstorable = /[\\\0\p{Surrogate}]/gu;

/** The stored form of a key; different keys stay different. */
export function storedKey(key: string): string {
  return key.replace(unstorable, (character) => `\\${character.charCodeAt(0).toString(16)};`);
}

/** The key of a stored form. */
export const keyOf = (stored: string): string =>
  stored.replace(/\\([0-9a-f]+);/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Callers pass moments of their own clock. The database gets durations and adds them to its own clock. */
export function postgresKeys(state: Pick<PostgresState, 'db' | 'clock' | 'at'>): KeyStore {
  const { db, clock } = state;
  const s = db.schema;
  const now = timeOf('$1');
  const owned = `key = $2 AND owner = $3 AND hold_until > ${now}`;
  const away = (moment: number): number => Math.ceil(moment - clock.now());

  /** Changes the key if this owner holds it. The first of `rest` is $4. */
  async function write(sql: string, key: string, owner: string, ...rest: unknown[]): Promise<boolean> {
    const values = [state.at(), storedKey(key), owner, ...rest];
    return (await db.query('writing a key', `${sql} WHERE ${owned} RETURNING 1`, values)).length === 1;
  }
  const kept = `owner = NULL, hold_until = 0, value = $5, keep_until = ${now} + $4`;

  return {
    async claim(key, owner, holdUntil) {
      const calledAt = clock.now();
      const sql = `SELECT state, value, remaining FROM ${s}.claim_key($1, $2, $3, $4)`;
      const values = [state.at(), storedKey(key), owner, away(holdUntil)];
      const [row] = await db.query('claiming a key', sql, values);
      const [found, value, remaining] = row as [string, string | null, string];
      if (found === 'running') return { state: 'running', until: calledAt + Number(remaining) };
      return { state: found === 'completed' ? 'completed' : 'claimed', value };
    },
    extend: (key, owner, holdUntil) =>
      write(`UPDATE ${s}.keys SET hold_until = ${now} + $4`, key, owner, away(holdUntil)),
    complete: (key, owner, { value, keepUntil }) =>
      write(`UPDATE ${s}.keys SET ${kept}, done = true`, key, owner, away(keepUntil), value),
    release: (key, owner, left) =>
      left
        ? write(`UPDATE ${s}.keys SET ${kept}`, key, owner, away(left.keepUntil), left.value)
        : write(`DELETE FROM ${s}.keys`, key, owner),
  };
}
