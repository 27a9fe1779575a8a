import { endOf, type KeyTable, type StoredKey } from '../../../core/kit/records/keys.ts';
import type { Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiry.ts';
import { keyPartition, keyPartitions, safe, textOf } from './layout.ts';

const during = 'writing a key';

const rowOf = (key: string): string => `key:${safe(key)}`;

const expiringOf = (partition: string, row: string, text: string): Expiring => ({
  ...{ partition, row, text },
  endsAt: endOf(JSON.parse(text) as StoredKey),
});

export function tableKeys(table: Table): KeyTable {
  return {
    async read(key) {
      const found = await table.call(during, (api) => readExpiring(api, keyPartition(key), rowOf(key)));
      return found && { stored: JSON.parse(found.text), version: found.version };
    },
    write: (key, stored, over) =>
      table.call(during, (api) =>
        writeExpiring(api, expiringOf(keyPartition(key), rowOf(key), JSON.stringify(stored)), over),
      ),
    remove: (key, version) =>
      table.call(during, (api) => removeExpiring(api, keyPartition(key), rowOf(key), version)),
  };
}

/** Removes keys past their time; returns how many. Bounded. */
export const purgeKeys = (table: Table, now: number): Promise<number> =>
  purgeExpired(
    table,
    keyPartitions,
    (found) => expiringOf(found.partitionKey, found.rowKey, textOf(found)),
    now,
  );
