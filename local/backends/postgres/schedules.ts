import { randomUUID } from 'node:crypto';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/schedules.ts';
import { storable } from './arrays.ts';
import type { Row } from './client.ts';
import type { PostgresState } from './state.ts';

export function postgresSchedules({ db }: Pick<PostgresState, 'db'>): ScheduleStore {
  const table = `${db.schema}.schedules`;
  const select = `SELECT name, next_at, body, version FROM ${table}`;

  async function read(where: string, values: unknown[]): Promise<StoredSchedule[]> {
    return (await db.query('reading schedules', `${select} ${where}`, values)).map(storedOf);
  }

  return {
    get: async (name) => (await read('WHERE name = $1', [name]))[0] ?? null,
    async write({ name, nextAt, text }, over) {
      const values = [name, nextAt, randomUUID(), text];
      const insert = `INSERT INTO ${table} (name, next_at, version, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1`;
      const update = `UPDATE ${table} SET next_at = $2, version = $3, body = $4 WHERE name = $1 AND version = $5 RETURNING 1`;
      const written =
        over === null
          ? db.query('writing a schedule', insert, values)
          : db.query('writing a schedule', update, [...values, over]);
      return (await written).length === 1;
    },
    async remove(name) {
      const sql = `DELETE FROM ${table} WHERE name = $1 RETURNING 1`;
      return (await db.query('removing a schedule', sql, [name])).length === 1;
    },
    list: ({ after = '', max }) => read('WHERE name > $1 ORDER BY name LIMIT $2', [storable(after), max]),
    due: (until, max) =>
      read('WHERE next_at <= $1 ORDER BY next_at, name LIMIT $2', [Math.floor(until), max]),
  };
}

const storedOf = ([name, nextAt, text, version]: Row): StoredSchedule => ({
  name: name as string,
  nextAt: nextAt === null ? null : Number(nextAt),
  text: text as string,
  version: version as string,
});
