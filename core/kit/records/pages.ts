/** Pages for tables whose indexes do not cover every filter: the listed records are read and then compared. */

import type { RecordFilter } from '../../contract/store.ts';
import { cursorOf, listedOf, matches, positionIn, wrongCursor } from './filter.ts';
import type { RecordRow } from './row.ts';
import type { RecordQuery, RecordTable, RowPage } from './store.ts';

/** A record in an index. */
export interface Entry {
  readonly id: string;
  /** The list is sorted by this text, ascending or descending. A record keeps it under another status. */
  readonly position: string;
  /** The last entry of this call. The page ends after it, because the index has looked at enough. */
  readonly stops?: boolean;
}

export interface Index {
  /** The next `count` entries after this position, in the order of the list; fewer = the list ends. `null` = from the beginning. */
  next(after: string | null, count: number): Promise<readonly Entry[]>;
  readonly read: RecordTable['read'];
  isPosition(text: string): boolean;
  /** The index does not cover the status of this query. */
  readonly readsStatus?: boolean;
}

/** A page ends after this number of read records. */
const mostRead = 1_000;
const stepSize = 200;

/** Filters that no index covers. */
const read = ['tenantId', 'idempotencyKey', 'schedule', 'idPrefix', 'worker', 'error'] as const;

export async function pageIn(index: Index, { after, ...filter }: RecordQuery, max: number): Promise<RowPage> {
  if (max < 1) return { rows: [], next: null };
  let position = after === undefined ? null : positionFrom(index, after);
  const isNarrow = index.readsStatus || read.some((name) => filter[name] !== undefined);
  const rows: RecordRow[] = [];
  for (let looked = 0; ; ) {
    const count = isNarrow ? stepSize : max - rows.length;
    const entries = await index.next(position, count);
    const found = await rowsAt(index, entries, filter);
    for (const entry of entries) {
      looked++;
      position = entry.position;
      const row = found.get(entry.id);
      found.delete(entry.id); // it may be listed under two statuses
      if (row) rows.push(row);
      if (rows.length === max || entry.stops) return { rows, next: cursorOf(position) };
    }
    if (entries.length < count) return { rows, next: null };
    if (looked >= mostRead) return { rows, next: cursorOf(position!) };
  }
}

function positionFrom(index: Index, cursor: string): string {
  const [position] = positionIn(cursor, 'string');
  if (!index.isPosition(position)) throw wrongCursor(cursor); // the position goes into a query
  return position;
}

/** The matching rows by id. */
async function rowsAt(
  index: Index,
  entries: readonly Entry[],
  filter: RecordFilter,
): Promise<Map<string, RecordRow>> {
  const found = await index.read([...new Set(entries.map(({ id }) => id))]);
  const rows = found.map(({ row }) => row).filter((row) => matches(listedOf(row), filter));
  return new Map(rows.map((row) => [row.id, row]));
}
