/** `longshore migrate`: creates a missing table. An existing one is checked and not changed. */

import { config } from '../../../core/base/errors.ts';
import { openTable } from './api.ts';
import { isOurs } from './layout.ts';
import type { TableStoreOptions } from './options.ts';

const version = 1;

/** Throws `CONFIG` for another program's table. */
export async function migrateTable(options: TableStoreOptions): Promise<{ from: number | null; to: number }> {
  const table = openTable(options);
  const partition = await table.call('looking at the table', (api) => api.somePartition());
  if (partition === 'missing') {
    // Two processes may do so at once: creating an existing table is no error.
    await table.call('creating the table', (api) => api.create());
    return { from: null, to: version };
  }
  if (partition === null || isOurs(partition)) return { from: version, to: version };
  throw config(
    `Expected table ${options.table} to be empty or Longshore's, got one with the partition ${JSON.stringify(partition)}. It is another program's: give tableStore() a table of its own.`,
  );
}
