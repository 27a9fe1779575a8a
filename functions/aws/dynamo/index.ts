/** Keys, records and workers in one DynamoDB table: an app on AWS needs no other database. */

import { systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import { door } from '../../../core/base/lazy.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { keyStore, textKeys } from '../../../core/kit/records/keys.ts';
import { defaultRetention, recordStore } from '../../../core/kit/records/store.ts';
import { sectionOf } from '../../../core/kit/texts/section.ts';
import { mostPerSecondOfItem, mostSlotsOfItem, storesOf } from '../../../core/kit/texts/stores.ts';
import { dynamoRecords } from './records.ts';
import { type DynamoStoreOptions, type DynamoTableOptions, openDynamo } from './sdk.ts';
import { dynamoTable } from './table.ts';
import { dynamoTexts } from './texts.ts';

export type { DynamoStoreOptions, DynamoTableOptions } from './sdk.ts';
export { type DynamoTable, dynamoTable } from './table.ts';

const operating = door(() => import('./migrate.ts'));

/**
 * Opens no connection and loads no SDK before the first use. The table must exist: see `createDynamoTable()` and `dynamoTable()`. Times are read
 * from the clocks of the processes, so the hosts' clocks should agree to the second.
 */
export function dynamoStore(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'migrate' | 'diagnose' | 'close'>> {
  check(options, 'dynamoStore()');
  return {
    ...openStores(options),
    migrate: async () => operating(({ migrateTable }) => migrateTable(options)),
    diagnose: async () => operating(({ dynamoDiagnosis }) => dynamoDiagnosis(options)),
  };
}

/** Creates the table and waits until it is ready; for tests, and for apps without a template. */
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
  throw config(`${caller}: a table name has 3 to 255 characters of A-Z a-z 0-9 _ . -, got ${shown(table)}.`);
}

/** Each waiter makes every write of its limit's key larger. */
const mostWaiters = 250;

/** `load` loads the SDK. It rejects with `CONFIG` if that fails, so that a function runs no job. */
function openStores(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'close'>> & { load(): Promise<unknown> } {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const stores = storesOf(dynamoTexts(dynamo), clock, { mostSlots: mostSlotsOfItem, mostWaiters });
  const retention = { ...defaultRetention, ...options.retention };
  return {
    keys: keyStore(textKeys(sectionOf(stores.texts, 'key/')), clock),
    records: recordStore(dynamoRecords(dynamo, retention), { clock, retention }),
    ...stores,
    limits: { ...stores.limits, mostPerSecond: mostPerSecondOfItem },
    load: dynamo.api,
    close: dynamo.close,
  };
}
