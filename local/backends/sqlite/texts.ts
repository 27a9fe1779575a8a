import { randomUUID } from 'node:crypto';
import { slices } from '../../../core/base/slices.ts';
import type { NamedText, StoredText, TextStore } from '../../../core/contract/texts.ts';
import { boundsOf } from '../shared/text-range.ts';
import { stepSize } from './schema.ts';
import type { Purgeable, SqliteState } from './state.ts';

/** Called between steps, so that other processes and the jobs of this process do not wait for long. */
const othersRun = (): Promise<unknown> => new Promise(setImmediate);

export function sqliteTexts({ db }: Pick<SqliteState, 'db'>): TextStore & Purgeable {
  const read = db.prepare('SELECT text, version FROM texts WHERE name = ?');
  const add = db.prepare(
    'INSERT INTO texts (version, ends_at, text, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const replace = db.prepare(
    'UPDATE texts SET version = ?, ends_at = ?, text = ? WHERE name = ? AND version = ?',
  );
  const put = db.prepare(`
    INSERT INTO texts (version, ends_at, text, name) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET version = excluded.version, ends_at = excluded.ends_at, text = excluded.text`);
  const remove = db.prepare('DELETE FROM texts WHERE name = ?1 AND version = coalesce(?2, version)');
  const purge = db.prepare(
    `DELETE FROM texts WHERE rowid IN (SELECT rowid FROM texts WHERE ends_at <= ? LIMIT ${stepSize})`,
  );

  /** One statement is its own transaction; several share one. */
  async function each<One, T>(during: string, all: readonly One[], work: (one: One) => T): Promise<T[]> {
    if (all.length === 1) return [db.run(during, () => work(all[0]!))];
    const done: T[] = [];
    for (const some of slices(all, stepSize)) {
      if (done.length > 0) await othersRun();
      db.transaction(during, () => done.push(...some.map(work)));
    }
    return done;
  }

  return {
    async read(names) {
      return db.run('reading texts', () =>
        names.map((name) => {
          const found = read.get(name) as unknown as StoredText | undefined;
          return found ? { text: found.text, version: found.version } : null;
        }),
      );
    },
    write: (texts) =>
      each('writing texts', texts, ({ name, text, ifVersion, endsAt }) => {
        const version = randomUUID();
        const statement = ifVersion === undefined ? put : ifVersion === null ? add : replace;
        const { changes } = statement.run(version, endsAt, text, name, ...(ifVersion ? [ifVersion] : []));
        return changes === 1 ? version : null;
      }),
    remove: (removals) =>
      each(
        'removing texts',
        removals,
        ({ name, ifVersion = null }) => remove.run(name, ifVersion).changes === 1,
      ),
    async list({ containing, max, ...range }) {
      const bounds = boundsOf(range);
      if (!bounds) return [];
      const { from, hasFrom, to } = bounds;
      const only = containing === undefined ? '' : 'AND instr(name, ?) > 0';
      const sql = `SELECT name, text, version FROM texts WHERE name ${hasFrom ? '>=' : '>'} ? AND name < ? ${only} ORDER BY name LIMIT ?`;
      const values = [from, to, ...(containing === undefined ? [] : [containing]), max];
      const rows = db.run('listing texts', () => db.prepare(sql).all(...values));
      return rows.map((row) => ({ ...row })) as unknown as NamedText[];
    },
    purgeNow: (now) => Number(purge.run(now).changes),
  };
}
