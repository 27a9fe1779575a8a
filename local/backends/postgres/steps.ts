import { randomUUID } from 'node:crypto';
import type { StepStore } from '../../../core/contract/steps.ts';
import type { Row } from './client.ts';
import { storedKey } from './keys.ts';
import type { PostgresState } from './state.ts';

/** What jobs remember of their steps, and which of them wait for an event: texts by name. */
export function postgresSteps({ db }: Pick<PostgresState, 'db'>): StepStore {
  return {
    ...textsIn(db.schema, (during, text, values) => db.query(during, text, values)),
    within: (tx) =>
      textsIn(db.schema, async (_, text, values) => {
        const { rows } = await tx.query(text, values);
        return rows.map((row) => Object.values(row as object));
      }),
  };
}

function textsIn(
  schema: string,
  query: (during: string, text: string, values: unknown[]) => Promise<Row[]>,
): StepStore {
  const table = `${schema}.steps`;
  const during = 'writing steps';
  const add = `INSERT INTO ${table} (name, version, ends_at, text) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO NOTHING RETURNING 1`;
  const replace = `UPDATE ${table} SET version = $2, ends_at = $3, text = $4 WHERE name = $1 AND version = $5 RETURNING 1`;
  return {
    async read(name) {
      const sql = `SELECT text, version FROM ${table} WHERE name = $1`;
      const [row] = await query('reading steps', sql, [storedKey(name)]);
      return row ? { text: row[0] as string, version: row[1] as string } : null;
    },
    async write(name, text, over, endsAt) {
      const version = randomUUID();
      const values = [storedKey(name), version, endsAt, text];
      const rows =
        over === null ? await query(during, add, values) : await query(during, replace, [...values, over]);
      return rows.length === 1 ? version : null;
    },
    async remove(name, version) {
      const sql = `DELETE FROM ${table} WHERE name = $1 AND version = $2 RETURNING 1`;
      return (await query(during, sql, [storedKey(name), version])).length === 1;
    },
  };
}
