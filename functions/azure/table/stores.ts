/** Keys, records, workers and the other stores in the table. */

import { systemClock } from '../../../core/base/clock.ts';
import type { Stores, WorkerRegistry } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import { keyStore } from '../../../core/kit/records/keys.ts';
import { limitStore, mostSlotsOfItem } from '../../../core/kit/records/limits.ts';
import { defaultRetention, type RecordTable, recordStore } from '../../../core/kit/records/store.ts';
import { workerRegistry } from '../../../core/kit/records/worker-registry.ts';
import { forgetWorkerMs } from '../../../core/kit/worker-state.ts';
import { openTable, type Table } from './api.ts';
import { tableAudit } from './audit.ts';
import { purgeKeys, tableKeys } from './keys.ts';
import { every, momentText, workersPartition as partition, safe, textOf, textProperties } from './layout.ts';
import { tableMetrics } from './metrics.ts';
import type { TableStoreOptions } from './options.ts';
import { tableRecords } from './records.ts';
import { tableSchedules } from './schedules.ts';
import type { TableApi } from './sdk.ts';
import { purgeSteps, tableSteps } from './steps.ts';
import { purgeTexts, tableTexts } from './texts.ts';

/** All jobs that wait for a key are written with every change of it. */
const mostWaiters = 250;

export function openStores(options: TableStoreOptions): Stores & Required<Pick<Stores, 'close'>> {
  const { clock = systemClock } = options;
  const table = openTable(options);
  const retention = { ...defaultRetention, ...options.retention };
  const rows = tableRecords(table);
  /** Table storage has no expiry, so a purge removes keys, limits, batches and workers too. */
  const purge: RecordTable['purge'] = async (past, now) => {
    const work = [
      rows.purge(past, now),
      purgeKeys(table, now),
      purgeTexts(table, now),
      purgeSteps(table, now),
      purgeWorkers(table, now),
    ] as const;
    const [records, keys, texts, steps] = await Promise.all(work);
    return records + keys + texts + steps;
  };
  return {
    keys: keyStore(tableKeys(table), clock),
    records: recordStore({ ...rows, purge }, { clock, retention }),
    workers: workersIn(table),
    metrics: tableMetrics(table),
    audit: tableAudit(table),
    limits: {
      ...limitStore({ ...tableTexts(table, 'limit'), mostWaiters }, clock),
      mostSlots: mostSlotsOfItem,
    },
    steps: tableSteps(table),
    batches: batchStore(tableTexts(table, 'batch'), clock),
    schedules: tableSchedules(table),
    close: async () => {}, // there is no connection to close
  };
}

/** A list of workers shows no more than these. */
const mostWorkers = 10_000;
const everyWorker = { partition, ...every };
/** Stands beside the heartbeat of a worker that is to drain: a heartbeat is written over. */
const drainRow = (row: string): string => `${row}!drain`;

async function remove(api: TableApi, row: string, etag?: string): Promise<void> {
  if (await api.remove(partition, row, etag)) await api.remove(partition, drainRow(row));
}

function workersIn(table: Table): WorkerRegistry {
  return workerRegistry({
    write: ({ id, seenAt }, beat) =>
      table.call('writing a heartbeat', async (api) => {
        const row = { partitionKey: partition, rowKey: safe(id), seen: momentText(seenAt) };
        const [mark] = await Promise.all([
          api.get(partition, drainRow(row.rowKey)),
          api.commit(partition, [{ put: { ...row, ...textProperties(beat) } }]),
        ]);
        return mark !== null;
      }),
    drain: (id) =>
      table.call('asking a worker to drain', async (api) => {
        const rowKey = safe(id);
        if ((await api.get(partition, rowKey)) === null) return false;
        return api.commit(partition, [
          { put: { partitionKey: partition, rowKey: drainRow(rowKey), worker: id } },
        ]);
      }),
    read: (seenSince) =>
      table.call('listing workers', async (api) => {
        const above = ['seen', momentText(seenSince - 1)] as const;
        return (await api.range({ ...everyWorker, above, max: mostWorkers })).map(textOf);
      }),
    remove: (id) => table.call('removing a worker', (api) => remove(api, safe(id))),
  });
}

/** Removes some of those that are long gone. */
function purgeWorkers(table: Table, now: number): Promise<void> {
  return table.call('purging', async (api) => {
    const range = { ...everyWorker, atMost: ['seen', momentText(now - forgetWorkerMs)] as const, max: 100 };
    await forEach(await api.range(range), ({ rowKey, etag }) => remove(api, rowKey, etag));
  });
}
