/** Lists of jobs. Their order is that of their rows, which is the order of their creation. */

import type { RecordFilter, RecordPage } from '../../../core/contract/store.ts';
import { cursorOf, matchesAttempts, mostLooked, positionIn } from '../../../core/kit/records/filter.ts';
import { recordOf, type StoredRecord } from '../shared/report-lines.ts';
import type { Database } from './database.ts';
import { recordColumns, statusWhere } from './rows.ts';
import { isLookedFor, maybeAttempts, whereOf } from './where.ts';

type Query = RecordFilter & { readonly after?: string };
type ListedRow = StoredRecord & { readonly seq: number };

export function sqlitePages(db: Database): (query: Query) => RecordPage {
  const edge = db.prepare(`
    SELECT min(seq) AS seq, count(*) AS count FROM (
      SELECT seq FROM jobs WHERE seq < ? ORDER BY seq DESC LIMIT ${mostLooked})`);

  /** The last row to look at; `null` = all. */
  function edgeBefore(seq: number): number | null {
    const { seq: first, count } = edge.get(seq) as { seq: number | null; count: number };
    return count < mostLooked ? null : first;
  }

  return ({ after, max = 100, ...filter }) =>
    db.run('listing', () => {
      const [before] = after === undefined ? [Number.MAX_SAFE_INTEGER] : positionIn(after, 'number');
      const from = isLookedFor(filter) ? edgeBefore(before) : null;
      const columns = whereOf(filter, 'jobs');
      const attempts = maybeAttempts(filter, 'error', 'reports');
      const where = ['seq < ?', 'seq >= ?', ...columns.sql, ...attempts.sql];
      if (filter.status !== undefined) where.push(statusWhere[filter.status]);
      const rows = db
        .prepare(
          `SELECT seq, ${recordColumns} FROM job_states WHERE ${where.join(' AND ')} ORDER BY seq DESC`,
        )
        .iterate(before, from ?? 0, ...columns.values, ...attempts.values);
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
