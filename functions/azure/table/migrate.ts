/** `longshore migrate`: creates a missing table. An existing one is checked and not changed. */

import { systemClock } from '../../../core/base/clock.ts';
import { config } from '../../../core/base/errors.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { listOldHolds } from '../../../core/kit/records/old-holds.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { every, isOurs, textOf, workersPartition } from './layout.ts';
import { openTable, type TableApi, type TableStoreOptions } from './sdk.ts';
import { tableTexts } from './texts.ts';

const version = 1;

/** Throws `CONFIG` for a table of another program. */
export async function migrateTable(options: TableStoreOptions): Promise<{ from: number | null; to: number }> {
  const { clock = systemClock } = options;
  const table = openTable(options);
  const partition = await table.call('looking at the table', (api) => api.somePartition());
  if (partition === 'missing') {
    // Two processes may create it at once: that is not an error.
    await table.call('creating the table', (api) => api.create());
    return { from: null, to: version };
  }
  if (partition === null || isOurs(partition)) {
    const stores = storesOf(tableTexts(table), clock);
    await table.call('migrating heartbeats', (api) => toTexts(api, stores));
    await listOldHolds(stores.limits!);
    return { from: version, to: version };
  }
  throw config(
    `Expected table ${options.table} to be empty or Longshore's, got one with the partition ${JSON.stringify(partition)}. It belongs to another program: give tableStore() a separate table.`,
  );
}

/** Version 0.1.0 kept heartbeats and drain requests in a partition of their own. */
async function toTexts(
  api: TableApi,
  { workers }: Required<Pick<ReturnType<typeof storesOf>, 'workers'>>,
): Promise<void> {
  const partition = workersPartition;
  await forEach(await api.range({ partition, ...every }), async (row) => {
    const text = textOf(row);
    if (text !== '') await workers.heartbeat(JSON.parse(text) as WorkerBeat);
    await api.remove(partition, row.rowKey);
  });
}
