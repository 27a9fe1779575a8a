/** Lists of jobs. Their order is that of their rows, which is the order of their creation. */

import type { RecordFilter, RecordPage } from '../../../core/contract/store.ts';
import { cursorOf, matchesAttempts, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { recordOf, type StoredRecord } from '../shared/report-lines.ts';
import type { Database } from './database.ts';
import { recordColumns, statusWhere } from './rows.ts';
import { maybeAttempts, type Path, pathOf, whereOf } from './where.ts';

type Query = RecordFilter & { readonly after?: string };
type ListedRow = StoredRecord & { readonly seq: number };

export function sqlitePages(db: Database): (query: Query) => RecordPage {
  /** The last row to look at; `null` = all. */
  function edgeBefore(seq: number, path: Path): number | null {
    const edge = db.prepare(
      `SELECT seq FROM jobs WHERE seq < ? AND ${path.sql} ORDER BY seq DESC LIMIT 1 OFFSET ${mostLooked - 1}`,
    );
    return (edge.get(seq, ...path.values)?.seq as number | undefined) ?? null;
  }

  return ({ after, max = 100, ...filter }) =>
    db.run('listing', () => {
      const [before] = after === undefined ? [Number.MAX_SAFE_INTEGER] : positionIn(after, 'number');
      const path = pathOf(db, filter, 'jobs');
      const from = path.isAll ? null : edgeBefore(before, path);
      const columns = whereOf(filter, 'jobs');
      const attempts = maybeAttempts(filter, 'error', 'reports');
      const where = ['seq < ?', 'seq >= ?', path.sql, ...columns.sql, ...attempts.sql];
      if (filter.status !== undefined) where.push(statusWhere[filter.status]);
      const rows = db
        .prepare(
          `SELECT seq, ${recordColumns} FROM job_states WHERE ${where.join(' AND ')} ORDER BY seq DESC`,
        )
        .iterate(before, from ?? 0, ...path.values, ...columns.values, ...attempts.values);
      const records = [];
      let last = 0;
      for (const { seq, ...row } of rows as Iterable<ListedRow>) {
        const record = recordOf(row);
        if (!matchesAttempts(record, filter)) continue;
        if (records.length === max) return { records, next: max < 1 ? null : cursorOf(last) };
        records.push(record);
        last = seq;
      }
      return { records, next: from === null ? null : cursorOf(from) };
    });
}
