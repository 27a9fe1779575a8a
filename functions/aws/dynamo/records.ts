import { randomUUID } from 'node:crypto';
import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { fitted } from '../../../core/kit/records/fit.ts';
import { type Entry, type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { finalStatuses, pastOf, shardOf, statuses } from '../../../core/kit/records/partitions.ts';
import { agesFrom, isDead, type RecordRow } from '../../../core/kit/records/row.ts';
import type { Past, RecordQuery, RecordTable, Versioned } from '../../../core/kit/records/store.ts';
import type { Dynamo, Item } from './sdk.ts';
import {
  expiry,
  idOf,
  listedAs,
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
      [partitionKey]: partitionOf(listedAs(status), shardOf(id, partitionsPerStatus)),
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
      pageIn(
        {
          next: entriesOf(dynamo, query, past),
          read,
          isPosition: isSortKey,
          readsStatus: query.status !== undefined && !finalStatuses.includes(query.status),
        },
        query,
        max,
      ),

    // DynamoDB itself removes keys and records that are past the store's own retention.
    async purge(past, now) {
      const where = '#finishedAt <= :past AND #guardedUntil <= :now';
      let count = 0;
      await dynamo.call('purging', (api) =>
        forEach([...finalStatuses, pending].flatMap(partitionsOf), async (partition) => {
          const values = { ':past': pastOn(statusOf(partition), past), ':now': now };
          const { items } = await api.query({ partition, where, values, max: stepSize });
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

const pending: JobStatus = 'pending';
/** As `pastOf`, for a shelf. */
const pastOn = (shelf: string, past: Past) => pastOf(shelf === pending ? 'completed' : shelf, past);

/** The condition for records of this status, or of all, that are shown. */
function shownOn(shelf: string, status: JobStatus | undefined): string {
  const [open, ended] = ['attribute_not_exists(#finishedAt)', '#finishedAt > :shown'];
  if (shelf !== pending) return (finalStatuses as readonly string[]).includes(shelf) ? ended : '';
  if (status === undefined) return `(${open} OR ${ended})`;
  return status === 'completed' ? ended : open;
}

/** The most requests per partition and call: 8,000 entries. A shelf may hold a million completed jobs before the next open one. */
const mostRequests = 8;

const isSortKey = (text: string): boolean => /^\d{16,}#/.test(text);
/** Sorts after the keys of all times. */
const lastSortKey = ':';

const entryOf = ({ pk, [sortKey]: place }: Item, stops: boolean): Entry => ({
  id: idOf(pk as string),
  position: place as string,
  stops,
});

/** The index entries that match time, status, queue and job of the query. */
function entriesOf(dynamo: Dynamo, query: RecordQuery, past: Past): Index['next'] {
  const { queue, job, status, createdFrom = 0, createdBefore = Infinity } = query;
  const shelves = status === undefined ? statuses : new Set([status, listedAs(status)]);
  const partitions = [...shelves].flatMap(partitionsOf);
  const from = sortKeyOf(Math.ceil(createdFrom));
  const to = createdBefore === Infinity ? lastSortKey : sortKeyOf(Math.ceil(createdBefore));
  return async (after, count) => {
    const before = after !== null && after < to ? after : to;
    if (before < from) return [];
    const found = await dynamo.call('listing', (api) =>
      Promise.all(
        partitions.map((partition) => {
          const shown = shownOn(statusOf(partition), status);
          const where = [
            ...(queue === undefined ? [] : ['#queue = :queue']),
            ...(job === undefined ? [] : ['#job = :job']),
            ...(shown === '' ? [] : [shown]),
          ].join(' AND ');
          const shownAfter = shown.includes(':shown') ? pastOn(statusOf(partition), past) : null;
          const values = { ':queue': queue ?? null, ':job': job ?? null, ':shown': shownAfter };
          // One more, because a range includes both ends.
          return api.query({ partition, from, to: before, max: count + 1, where, values, mostRequests });
        }),
      ),
    );
    const entries = found
      .flatMap(({ items, stoppedAt }) => [
        ...items.map((item) => entryOf(item, false)),
        ...(stoppedAt ? [entryOf(stoppedAt, true)] : []),
      ])
      .filter(({ position }) => position < before)
      .sort((a, b) => (a.position < b.position ? 1 : -1));
    const stop = entries.findIndex(({ stops }) => stops);
    return entries.slice(0, stop < 0 ? count : Math.min(count, stop + 1));
  };
}
