/** Lists of records. Loaded with the first one. */

import { forEach } from '../../../core/kit/parallel.ts';
import { type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { pastOf, statuses } from '../../../core/kit/records/partitions.ts';
import type { Past, RecordQuery, RowPage } from '../../../core/kit/records/store.ts';
import type { Table } from './api.ts';
import { backwards, jobPartitions, momentText } from './layout.ts';
import type { Found } from './sdk.ts';

const isPosition = (text: string): boolean => /^\d{16}:[\w.@:~-]+$/.test(text);

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
    // `!` comes before all that an id may have, and `;` after `:`.
    const next = after !== null && after > first ? `${after}!` : first;
    const found: Found[] = [];
    await table.call('listing', (api) =>
      forEach(ranges, async ({ partition, status: each }) => {
        const shown = pastOf(each, past);
        const above = shown === null ? {} : { above: ['finished', momentText(shown)] as const };
        const range = {
          partition,
          from: `${each}:${next}`,
          to: `${each}${last};`,
          equal,
          ...above,
          max: count,
        };
        found.push(...(await api.range(range)));
      }),
    );
    return found
      .map(({ id, rowKey }) => ({ id: id!, position: rowKey.slice(rowKey.indexOf(':') + 1) }))
      .sort((a, b) => (a.position < b.position ? -1 : 1))
      .slice(0, count);
  };
}
