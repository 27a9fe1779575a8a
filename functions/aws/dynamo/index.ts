/** Keys, records and workers in one DynamoDB table: an app on AWS needs no other database. */

import { config, shown } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { lazyStores } from '../../../core/kit/records/lazy-stores.ts';
import type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
import { dynamoTable } from './table.ts';

export type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
export { type DynamoTable, dynamoTable } from './table.ts';

/**
 * Loads and opens nothing before the first use. The table must exist: see `createDynamoTable()` and `dynamoTable()`. Times are those of
 * the processes' clocks, so the clocks of the hosts should agree to the second.
 */
export function dynamoStore(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  check(options, 'dynamoStore()');
  return {
    ...lazyStores(async () => (await import('./stores.ts')).openStores(options), { mostPerSecond }),
    migrate: async () => (await import('./migrate.ts')).migrateTable(options),
    diagnose: async () => (await import('./diagnose.ts')).dynamoDiagnosis(options),
  };
}

/** All slots of a key are one item, and DynamoDB takes 1,000 write units of 1 KB a second of it. */
const mostPerSecond = (slots: number): number => Math.floor(1_000 / Math.ceil((slots * slotBytes) / 1_024));
const slotBytes = 150;

/** Creates the table and waits until it can be used; for tests and for apps without a template. */
export async function createDynamoTable(options: DynamoTableOptions): Promise<void> {
  check(options, 'createDynamoTable()');
  const { openDynamo } = await import('./api.ts');
  const dynamo = openDynamo(options);
  try {
    await dynamo.call('creating the table', (api) => api.create(dynamoTable(options.table), false));
  } finally {
    await dynamo.close();
  }
}

function check({ table }: DynamoTableOptions, caller: string): void {
  if (typeof table === 'string' && /^[A-Za-z0-9_.-]{3,255}$/.test(table)) return;
  throw config(`${caller} expects table to be the name of a table, got ${shown(table)}.`);
}
