/** Keys, records and workers in one DynamoDB table: an app on AWS needs no other database. */

import { config, shown } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { openDynamo } from './api.ts';
import { dynamoDiagnosis } from './diagnose.ts';
import { migrateTable } from './migrate.ts';
import type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
import { openStores } from './stores.ts';
import { dynamoTable } from './table.ts';

export type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
export { type DynamoTable, dynamoTable } from './table.ts';

/**
 * Opens nothing, and loads no SDK, before the first use. The table must exist: see `createDynamoTable()` and `dynamoTable()`. Times are those of
 * the processes' clocks, so the clocks of the hosts should agree to the second.
 */
export function dynamoStore(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  check(options, 'dynamoStore()');
  return {
    ...openStores(options),
    migrate: () => migrateTable(options),
    diagnose: async () => dynamoDiagnosis(options),
  };
}

/** Creates the table and waits until it can be used; for tests and for apps without a template. */
export async function createDynamoTable(options: DynamoTableOptions): Promise<void> {
  check(options, 'createDynamoTable()');
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
