/** Pages of tables whose indexes know less than a filter asks: what they list is read, and then compared. */

import type { RecordFilter } from '../../contract/store.ts';
import { cursorOf, listedOf, matches, positionIn, wrongCursor } from './filter.ts';
import type { RecordRow } from './row.ts';
import type { RecordQuery, RecordTable, RowPage } from './store.ts';

/** A record where an index lists it. */
export interface Entry {
  readonly id: string;
  /** Equal for the same record under another status; of two texts the list shows the larger or the smaller one first, always. */
  readonly position: string;
}

export interface Index {
  /** The next so many after this position, in the order of the list; fewer = there are no more. `null` = from its beginning. */
  next(after: string | null, count: number): Promise<readonly Entry[]>;
  readonly read: RecordTable['read'];
  isPosition(text: string): boolean;
}

/** A page ends when so many records were read. */
const mostRead = 1_000;
const stepSize = 200;

/** What is not in the indexes. */
const read = ['tenantId', 'idempotencyKey', 'schedule', 'idPrefix', 'worker', 'error'] as const;

export async function pageIn(index: Index, { after, ...filter }: RecordQuery, max: number): Promise<RowPage> {
  if (max < 1) return { rows: [], next: null };
  let position = after === undefined ? null : positionFrom(index, after);
  const isNarrow = read.some((name) => filter[name] !== undefined);
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
      if (rows.length === max) return { rows, next: cursorOf(position) };
    }
    if (entries.length < count) return { rows, next: null };
    if (looked >= mostRead) return { rows, next: cursorOf(position!) };
  }
}

function positionFrom(index: Index, cursor: string): string {
  const [position] = positionIn(cursor, 'string');
  if (!index.isPosition(position)) throw wrongCursor(cursor); // it would go into a query
  return position;
}

/** Those that match. */
async function rowsAt(
  index: Index,
  entries: readonly Entry[],
  filter: RecordFilter,
): Promise<Map<string, RecordRow>> {
  const found = await index.read([...new Set(entries.map(({ id }) => id))]);
  const rows = found.map(({ row }) => row).filter((row) => matches(listedOf(row), filter));
  return new Map(rows.map((row) => [row.id, row]));
}
