/** Records in the table. Loaded on first use. */

import { slices } from '../../../core/base/slices.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { fitted } from '../../../core/kit/records/fit.ts';
import { type Index, pageIn } from '../../../core/kit/records/pages.ts';
import { finalStatuses, pastOf, statuses } from '../../../core/kit/records/partitions.ts';
import { agesFrom, isDead, type RecordRow } from '../../../core/kit/records/row.ts';
import { backwards, momentText } from '../../../core/kit/records/sortable.ts';
import type { Past, RecordQuery, RecordTable, Versioned } from '../../../core/kit/records/store.ts';
import { fits, jobPartition, jobPartitions, safe, textOf, textProperties } from './layout.ts';
import type { Entity, Found, Range, Step, Table } from './sdk.ts';

/** The most records that one purge call removes from a partition: each takes three steps of a transaction, which may have a hundred. */
const stepSize = 33;
/** The most new records in one transaction: two steps each, and far below its limit of 4 MB. */
const batchSize = 50;

/** The version that was read, and the rows of the record for lists and purges. */
interface Version {
  readonly etag: string;
  readonly listed: string;
  /** Empty while the job has not ended. */
  readonly past: string;
}

const rowOf = (id: string): string => `job:${safe(id)}`;
const listedAs = ({ status, createdAt, id }: RecordRow): string =>
  `${status}:${backwards(createdAt)}:${safe(id)}`;
function pastAs(row: RecordRow): string {
  const from = agesFrom(row);
  return from === null ? '' : `past:${isDead(row) ? 'dead' : 'ended'}:${momentText(from)}:${safe(row.id)}`;
}

/** The entities of a record. */
function entitiesOf(row: RecordRow): { job: Entity; listed: Entity; past: Entity | null } {
  const { id, queue, job } = row;
  const partitionKey = jobPartition(id);
  const [listed, past] = [listedAs(row), pastAs(row)];
  const facts = { partitionKey, id };
  const from = agesFrom(row);
  const finished = from === null ? '' : momentText(from);
  return {
    job: { ...facts, rowKey: rowOf(id), listed, past, ...textProperties(fitted(row, fits)) },
    listed: { ...facts, rowKey: listed, queue, job, finished },
    past: past === '' ? null : { ...facts, rowKey: past, listed, guarded: momentText(row.guardedUntil) },
  };
}

/** Replaces an entity whose row may have changed. */
function replaced(before: string, next: Entity | null): Step[] {
  const removed = before !== '' && before !== next?.rowKey ? [{ remove: before }] : [];
  return [...removed, ...(next ? [{ put: next }] : [])];
}

const isLiving = (listed: string): boolean =>
  !finalStatuses.some((status) => listed.startsWith(`${status}:`));

export function tableRecords(table: Table): RecordTable {
  async function read(ids: readonly string[]): Promise<Versioned[]> {
    const found: Versioned[] = [];
    await table.call('reading', (api) =>
      forEach([...new Set(ids)], async (id) => {
        const entity = await api.get(jobPartition(id), rowOf(id));
        if (!entity) return;
        const { etag, listed, past } = entity;
        const version: Version = { etag, listed: listed!, past: past! };
        found.push({ row: JSON.parse(textOf(entity)), version: JSON.stringify(version) });
      }),
    );
    return found;
  }

  const commit = (partition: string, steps: readonly Step[]): Promise<boolean> =>
    table.call('recording', (api) => api.commit(partition, steps));

  function created(row: RecordRow): Step[] {
    const { job, listed, past } = entitiesOf(row);
    return [{ create: job }, { put: listed }, ...(past ? [{ put: past }] : [])];
  }

  /** Known records stay unchanged. One of them makes the whole batch fail; then it is sent record by record. */
  async function addBatch(partition: string, rows: readonly RecordRow[]): Promise<void> {
    if (rows.length > 1 && (await commit(partition, rows.flatMap(created)))) return;
    for (const row of rows) await commit(partition, created(row));
  }

  return {
    read,

    async add(rows) {
      const known = new Set<string>();
      const fresh = rows.filter(({ id }) => !known.has(id) && known.add(id));
      const batches: [string, readonly RecordRow[]][] = [];
      for (const [partition, group] of Map.groupBy(fresh, ({ id }) => jobPartition(id))) {
        for (const batch of slices(group, batchSize)) batches.push([partition, batch]);
      }
      await forEach(batches, ([partition, group]) => addBatch(partition, group));
    },

    async write(row, over) {
      const partition = jobPartition(row.id);
      if (over === null) return commit(partition, created(row));
      const { etag, ...before } = JSON.parse(over) as Version;
      const { job, listed, past } = entitiesOf(row);
      // The list row of a live job does not change, so its progress is one write without a transaction.
      const relisted =
        listed.rowKey === before.listed && isLiving(listed.rowKey) ? [] : replaced(before.listed, listed);
      return commit(partition, [{ update: job, over: etag }, ...relisted, ...replaced(before.past, past)]);
    },

    page: (query, max, past) => pageIn({ next: entriesOf(table, query, past), read, isPosition }, query, max),

    async purge(past, now) {
      let count = 0;
      const ranges = jobPartitions.flatMap((partition) => [
        { partition, kind: 'ended', before: past.ended },
        { partition, kind: 'dead', before: past.dead },
      ]);
      await table.call('purging', (api) =>
        forEach(ranges, async ({ partition, kind, before }) => {
          const range = {
            partition,
            from: `past:${kind}:`,
            to: `past:${kind}:${momentText(before + 1)}`,
            atMost: ['guarded', momentText(now)] as const,
            max: stepSize,
          };
          // If a record is reopened, its `past` row is removed, and this transaction fails.
          const remove = (found: readonly Found[]) =>
            api.commit(
              partition,
              found.flatMap(({ id, listed, rowKey }) =>
                [rowOf(id!), listed!, rowKey].map((row) => ({ remove: row })),
              ),
            );
          const found = await api.range(range);
          if (found.length === 0) return;
          if (await remove(found)) count += found.length;
          else for (const one of found) if (await remove([one])) count++;
        }),
      );
      return count;
    },
  };
}

/** A reversed time and the id. */
const isPosition = (text: string): boolean => /^\d{16}:[\w.@:~-]+$/.test(text);
const momentOf = (position: string): string => position.slice(0, position.indexOf(':'));
/** By time, newest first; at the same time by id, descending. */
const newestFirst = (a: string, b: string): number =>
  momentOf(a) === momentOf(b) ? (a < b ? 1 : -1) : a < b ? -1 : 1;

/** The most records of one partition and one millisecond that are read. */
const mostAtOnce = 10_000;

/** The list rows that match time, status, queue and job of the query. */
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
        // Rows are in ascending order of ids, but pages in descending order. So a millisecond in which a page ends is read whole: `;` sorts
        // after `:`, and `!` before all characters of an id.
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
