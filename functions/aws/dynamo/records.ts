import { randomUUID } from 'node:crypto';
import type { Retention } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { fitted } from '../../../core/kit/records/fit.ts';
import { type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { finalStatuses, pastOf, shardOf, statuses } from '../../../core/kit/records/partitions.ts';
import { agesFrom, isDead, type RecordRow } from '../../../core/kit/records/row.ts';
import type { Past, RecordQuery, RecordTable, Versioned } from '../../../core/kit/records/store.ts';
import type { Dynamo, Item } from './sdk.ts';
import {
  expiry,
  idOf,
  partitionKey,
  partitionOf,
  partitionsOf,
  partitionsPerStatus,
  pkOf,
  sortKey,
  sortKeyOf,
  statusOf,
} from './table.ts';

/** The most records that one purge call removes from an index partition. */
const stepSize = 100;

/** An item may have 400 KB. This leaves room for the other attributes and their copies in the index. */
const maxBytes = 380_000;
const fits = (text: string): boolean => text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;

export function dynamoRecords(dynamo: Dynamo, retention: Retention): RecordTable {
  function itemOf(row: RecordRow): Item {
    const { id, queue, job, status, createdAt, guardedUntil } = row;
    const finishedAt = agesFrom(row);
    const keepMs = isDead(row) ? retention.deadMs : retention.completedMs;
    return {
      pk: pkOf(id),
      version: randomUUID(),
      [partitionKey]: partitionOf(status, shardOf(id, partitionsPerStatus)),
      [sortKey]: sortKeyOf(createdAt, id),
      queue,
      job,
      finishedAt,
      guardedUntil,
      expiresAt: finishedAt === null ? null : expiry(Math.max(finishedAt + keepMs, guardedUntil)),
      row: fitted(row, fits),
    };
  }

  async function read(ids: readonly string[]): Promise<Versioned[]> {
    if (ids.length === 0) return [];
    const items = await dynamo.call('reading', (api) => api.read(ids.map(pkOf)));
    return items.map(({ row, version }) => {
      return { row: JSON.parse(row as string) as RecordRow, version: version as string };
    });
  }

  return {
    forgets: true,
    read,
    add: (rows) => dynamo.call('recording', (api) => forEach(rows, (row) => api.write(itemOf(row), null))),
    write: (row, over) => dynamo.call('recording', (api) => api.write(itemOf(row), over)),

    page: (query, max, past) =>
      pageIn({ next: entriesOf(dynamo, query, past), read, isPosition: isSortKey }, query, max),

    // DynamoDB itself removes keys and records that are past the store's own retention.
    async purge(past, now) {
      const where = '#finishedAt <= :past AND #guardedUntil <= :now';
      let count = 0;
      await dynamo.call('purging', (api) =>
        forEach(finalStatuses.flatMap(partitionsOf), async (partition) => {
          const values = { ':past': pastOf(statusOf(partition), past), ':now': now };
          const items = await api.query({ partition, where, values, max: stepSize });
          // Removes only the version that was just read: the dead letter may have been retried since.
          const ids = items.map(({ pk }) => idOf(pk as string));
          await forEach(await read(ids), async ({ row, version }) => {
            if (row.finishedAt !== null && (await api.remove(pkOf(row.id), version))) count++;
          });
        }),
      );
      return count;
    },
  };
}

const isSortKey = (text: string): boolean => /^\d{16,}#/.test(text);
/** Sorts after the keys of all times. */
const lastSortKey = ':';

/** The index entries that match time, status, queue and job of the query. */
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
          // One more, because a range includes both ends.
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
