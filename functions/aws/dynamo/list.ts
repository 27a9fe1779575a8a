/** Lists of records. Loaded with the first one. */

import { type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { pastOf, statuses } from '../../../core/kit/records/partitions.ts';
import type { Past, RecordQuery, RowPage } from '../../../core/kit/records/store.ts';
import type { Dynamo } from './api.ts';
import { idOf, partitionsOf, sortKeyOf, statusOf } from './sort-keys.ts';
import { sortKey } from './table.ts';

const isSortKey = (text: string): boolean => /^\d{16,}#/.test(text);
/** After those of all moments. */
const lastSortKey = ':';

export const pageOf = (
  dynamo: Dynamo,
  read: Index['read'],
  query: RecordQuery,
  max: number,
  past: Past,
): Promise<RowPage> =>
  pageIn({ next: entriesOf(dynamo, query, past), read, isPosition: isSortKey }, query, max);

/** What the index says of time, status, queue and job. */
function entriesOf(dynamo: Dynamo, query: RecordQuery, past: Past): Index['next'] {
  const { queue, job, status, createdFrom = 0, createdBefore = Infinity } = query;
  const partitions = (status === undefined ? statuses : [status]).flatMap(partitionsOf);
  const from = sortKeyOf(Math.ceil(createdFrom));
  const to = createdBefore === Infinity ? lastSortKey : sortKeyOf(Math.ceil(createdBefore));
  return async (after, count) => {
    const before = after !== null && after < to ? after : to;
    if (before < from) return [];
    const found = await dynamo.call('listing', (api) =>
      Promise.all(
        partitions.map((partition) => {
          const shown = pastOf(statusOf(partition), past);
          const where = [
            ...(queue === undefined ? [] : ['#queue = :queue']),
            ...(job === undefined ? [] : ['#job = :job']),
            ...(shown === null ? [] : ['#finishedAt > :shown']),
          ].join(' AND ');
          const values = { ':queue': queue ?? null, ':job': job ?? null, ':shown': shown };
          // One more, because a range has both of its ends.
          return api.query({ partition, from, to: before, max: count + 1, where, values });
        }),
      ),
    );
    return found
      .flat()
      .map(({ pk, [sortKey]: position }) => ({ id: idOf(pk as string), position: position as string }))
      .filter(({ position }) => position < before)
      .sort((a, b) => (a.position < b.position ? 1 : -1))
      .slice(0, count);
  };
}
