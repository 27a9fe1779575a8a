/** Keys and records in the table, and texts, of which the other stores are made. */

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../core/base/clock.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../../core/kit/records/keys.ts';
import { mostSlotsOfItem } from '../../../core/kit/records/limits.ts';
import { defaultRetention, recordStore } from '../../../core/kit/records/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { type Dynamo, openDynamo } from './api.ts';
import type { DynamoStoreOptions } from './options.ts';
import { dynamoRecords } from './records.ts';
import { expiry } from './sort-keys.ts';
import { dynamoTexts } from './texts.ts';

/** Each costs a part of every write of a limit's key. */
const mostWaiters = 250;

/** DynamoDB takes 1,000 write units of 1 KB a second of an item. */
const mostPerSecond = (slots: number): number => Math.floor(1_000 / Math.ceil((slots * slotBytes) / 1_024));
const slotBytes = 150;

export function openStores(options: DynamoStoreOptions): Stores & Required<Pick<Stores, 'close'>> {
  const { clock = systemClock } = options;
  const dynamo = openDynamo(options);
  const stores = storesOf(dynamoTexts(dynamo), clock, { mostSlots: mostSlotsOfItem, mostWaiters });
  const retention = { ...defaultRetention, ...options.retention };
  return {
    keys: keyStore(keysIn(dynamo), clock),
    records: recordStore(dynamoRecords(dynamo, retention), { clock, retention }),
    ...stores,
    limits: { ...stores.limits, mostPerSecond },
    load: async () => void (await dynamo.api()),
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
