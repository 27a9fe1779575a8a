import { randomUUID } from 'node:crypto';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/schedules.ts';
import type { SqliteState } from './state.ts';

/** Statements are prepared when they are used, so that a worker without such schedules does not pay for them. */
export function sqliteSchedules({ db }: Pick<SqliteState, 'db'>): ScheduleStore {
  const columns = 'name, next_at AS nextAt, text, version';
  const during = 'reading schedules';
  const read = (sql: string, ...values: (string | number)[]): StoredSchedule[] =>
    db.run(during, () => db.prepare(`SELECT ${columns} FROM schedules ${sql}`).all(...values)) as never;
  return {
    async get(name) {
      const [row] = read('WHERE name = ?', name);
      return row ? { ...row } : null;
    },
    async write({ name, nextAt, text }, over) {
      const version = randomUUID();
      const write = (): number | bigint =>
        over === null
          ? db
              .prepare(
                'INSERT INTO schedules (next_at, text, version, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
              )
              .run(nextAt, text, version, name).changes
          : db
              .prepare(
                'UPDATE schedules SET next_at = ?, text = ?, version = ? WHERE name = ? AND version = ?',
              )
              .run(nextAt, text, version, name, over).changes;
      return Number(db.run('writing a schedule', write)) === 1;
    },
    async remove(name) {
      const remove = () => db.prepare('DELETE FROM schedules WHERE name = ?').run(name).changes;
      return Number(db.run('removing a schedule', remove)) === 1;
    },
    list: async ({ after = '', max }) =>
      read('WHERE name > ? ORDER BY name LIMIT ?', after, max).map((row) => ({ ...row })),
    due: async (until, max) =>
      read('WHERE next_at <= ? ORDER BY next_at, name LIMIT ?', until, max).map((row) => ({ ...row })),
  };
}
