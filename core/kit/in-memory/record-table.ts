/** The rows of a record store in memory, for queues that keep no records. */

import { listedOf, matches, pageOf, positionIn } from '../records/filter.ts';
import { isShown, type RecordTable, type Versioned } from '../records/store.ts';

/** @param purgeOthers removes expired keys and texts, and returns how many */
export function recordTable(purgeOthers: () => number): RecordTable {
  /** `seq` orders rows of equal age. */
  const rows = new Map<string, Versioned & { readonly seq: number }>();
  let writes = 0;
  let added = 0;
  const next = (): string => String(++writes);
  return {
    async add(fresh) {
      for (const row of fresh)
        if (!rows.has(row.id)) rows.set(row.id, { row, version: next(), seq: ++added });
    },
    async read(ids) {
      return ids.flatMap((id) => rows.get(id) ?? []);
    },
    async write(row, over) {
      if ((rows.get(row.id)?.version ?? null) !== over) return false;
      rows.set(row.id, { row, version: next(), seq: rows.get(row.id)?.seq ?? ++added });
      return true;
    },
    async page({ after, ...filter }, max, past) {
      const [before, beforeSeq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const found = [...rows.values()]
        .filter(({ row, seq }) => row.createdAt < before || (row.createdAt === before && seq < beforeSeq))
        .filter(({ row }) => isShown(row, past) && matches(listedOf(row), filter))
        .sort((a, b) => b.row.createdAt - a.row.createdAt || b.seq - a.seq);
      const { shown, next } = pageOf(found, max, ({ row, seq }) => [row.createdAt, seq]);
      return { rows: shown.map(({ row }) => row), next };
    },
    async purge(past, now) {
      let count = purgeOthers();
      for (const [id, { row }] of rows) {
        if (!isShown(row, past) && row.guardedUntil <= now && rows.delete(id)) count++;
      }
      return count;
    },
  };
}
