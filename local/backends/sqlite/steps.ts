import { randomUUID } from 'node:crypto';
import type { StepStore, StepText } from '../../../core/contract/steps.ts';
import { stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

/** What jobs remember of their steps, and which of them wait for an event: texts by name. */
export function sqliteSteps({ db }: Pick<SqliteState, 'db'>): StepStore & Purgeable {
  const read = db.prepare('SELECT text, version FROM steps WHERE name = ?');
  const add = db.prepare(
    'INSERT INTO steps (version, ends_at, text, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const replace = db.prepare(
    'UPDATE steps SET version = ?, ends_at = ?, text = ? WHERE name = ? AND version = ?',
  );
  const remove = db.prepare('DELETE FROM steps WHERE name = ? AND version = ?');
  const purge = db.prepare(
    `DELETE FROM steps WHERE name IN (SELECT name FROM steps WHERE ends_at <= ? LIMIT ${stepSize})`,
  );
  return {
    async read(name) {
      const found = db.run('reading steps', () => read.get(name)) as unknown as StepText | undefined;
      return found ? { text: found.text, version: found.version } : null;
    },
    async write(name, text, over, endsAt) {
      const version = randomUUID();
      const values = [version, endsAt, text, name] as const;
      const done = db.run('writing steps', () =>
        over === null ? add.run(...values) : replace.run(...values, over),
      );
      return done.changes === 1 ? version : null;
    },
    async remove(name, version) {
      return db.run('writing steps', () => remove.run(name, version)).changes === 1;
    },
    purgeNow: (now) => Number(purge.run(now).changes),
  };
}
