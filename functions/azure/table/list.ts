/** Lists of records. Loaded with the first one. */

import { forEach } from '../../../core/kit/parallel.ts';
import { type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { pastOf, statuses } from '../../../core/kit/records/partitions.ts';
import { backwards, momentText } from '../../../core/kit/records/sortable.ts';
import type { Past, RecordQuery, RowPage } from '../../../core/kit/records/store.ts';
import type { Table } from './api.ts';
import { jobPartitions } from './layout.ts';
import type { Found, Range } from './sdk.ts';

/** The moment, which counts backwards, and the id. */
const isPosition = (text: string): boolean => /^\d{16}:[\w.@:~-]+$/.test(text);
const momentOf = (position: string): string => position.slice(0, position.indexOf(':'));
/** By moment, the newest first; of the same moment by id, the last one first. */
const newestFirst = (a: string, b: string): number =>
  momentOf(a) === momentOf(b) ? (a < b ? 1 : -1) : a < b ? -1 : 1;

/** The most that are read of one partition that were created in one millisecond. */
const mostAtOnce = 10_000;

export const pageOf = (
  table: Table,
  read: Index['read'],
  query: RecordQuery,
  max: number,
  past: Past,
): Promise<RowPage> => pageIn({ next: entriesOf(table, query, past), read, isPosition }, query, max);

/** What the rows for lists say of time, status, queue and job. */
function entriesOf(table: Table, query: RecordQuery, past: Past): Index['next'] {
  const { queue, job, status, createdFrom, createdBefore } = query;
  const equal = { ...(queue === undefined ? {} : { queue }), ...(job === undefined ? {} : { job }) };
  const ranges = (status === undefined ? statuses : [status]).flatMap((each) =>
    jobPartitions.map((partition) => ({ partition, status: each })),
  );
  const first = createdBefore === undefined ? '' : backwards(Math.ceil(createdBefore) - 1);
  const last = createdFrom === undefined ? '' : `:${backwards(Math.ceil(createdFrom))}`;

  return async (after, count) => {
    const found: Found[] = [];
    await table.call('listing', (api) =>
      forEach(ranges, async ({ partition, status: each }) => {
        const shown = pastOf(each, past);
        const above = shown === null ? {} : { above: ['finished', momentText(shown)] as const };
        const some = async (from: string, to: string, max: number) => {
          const range: Range = {
            partition,
            from: `${each}:${from}`,
            to: `${each}${to}`,
            equal,
            ...above,
            max,
          };
          const rows = await api.range(range);
          found.push(...rows);
          return rows;
        };
        // Rows go by id the other way round. So a moment that a page has to end in is read whole: `;` follows `:`, and `!` comes before
        // all that an id may have.
        const moment = after === null ? '' : momentOf(after);
        if (after !== null) await some(`${moment}:`, `:${after}`, mostAtOnce);
        const rows = await some(
          after !== null && `${moment};` > first ? `${moment};` : first,
          `${last};`,
          count,
        );
        const end = rows.length < count ? undefined : positionOf(rows.at(-1)!);
        if (end !== undefined) await some(`${end}!`, `:${momentOf(end)};`, mostAtOnce);
      }),
    );
    return found
      .map((row) => ({ id: row.id!, position: positionOf(row) }))
      .sort((a, b) => newestFirst(a.position, b.position))
      .slice(0, count);
  };
}

const positionOf = ({ rowKey }: Found): string => rowKey.slice(rowKey.indexOf(':') + 1);
