/** Keys, records and workers in one DynamoDB table: an app on AWS needs no other database. */

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../core/base/clock.ts';
import { config, shown } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../../core/kit/records/keys.ts';
import { defaultRetention, recordStore } from '../../../core/kit/records/store.ts';
import { mostSlotsOfItem, storesOf } from '../../../core/kit/texts/stores.ts';
import { type Dynamo, openDynamo } from './api.ts';
import { dynamoDiagnosis } from './diagnose.ts';
import { migrateTable } from './migrate.ts';
import type { DynamoStoreOptions, DynamoTableOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { expiry } from './sort-keys.ts';
import { dynamoTable } from './table.ts';
import { dynamoTexts } from './texts.ts';

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
  throw config(`${caller}: a table name has 3 to 255 characters of A-Z a-z 0-9 _ . -, got ${shown(table)}.`);
}

/** Each costs a part of every write of a limit's key. */
const mostWaiters = 250;

/** DynamoDB takes 1,000 write units of 1 KB a second of an item. */
const mostPerSecond = (slots: number): number => Math.floor(1_000 / Math.ceil((slots * slotBytes) / 1_024));
const slotBytes = 150;

/** `load` loads the SDK. Rejects with `CONFIG` where that cannot be: a function then runs no job. */
function openStores(
  options: DynamoStoreOptions,
): Stores & Required<Pick<Stores, 'close'>> & { load(): Promise<unknown> } {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const stores = storesOf(dynamoTexts(dynamo), clock, { mostSlots: mostSlotsOfItem, mostWaiters });
  const retention = { ...defaultRetention, ...options.retention };
  return {
    keys: keyStore(keysIn(dynamo), clock),
    records: recordStore(dynamoRecords(dynamo, retention), { clock, retention }),
    ...stores,
    limits: { ...stores.limits, mostPerSecond },
    load: dynamo.api,
    close: dynamo.close,
  };
}

function keysIn(dynamo: Dynamo): KeyTable {
  const pkOf = (key: string): string => `key#${key}`;
  const during = 'writing a key';
  return {
    async read(key) {
      const [item] = await dynamo.call(during, (api) => api.read([pkOf(key)]));
      if (!item) return null;
      return { stored: JSON.parse(item.key as string) as StoredKey, version: item.version as string };
    },
    write: (key, stored, over) =>
      dynamo.call(during, (api) => {
        const item = { pk: pkOf(key), version: randomUUID(), key: JSON.stringify(stored) };
        return api.write({ ...item, expiresAt: expiry(endOf(stored)) }, over);
      }),
    remove: (key, version) => dynamo.call(during, (api) => api.remove(pkOf(key), version)),
  };
}
