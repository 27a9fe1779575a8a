import { randomUUID } from 'node:crypto';
import { endOf, type KeyTable, type StoredKey } from '../../../core/kit/records/keys.ts';
import type { Dynamo } from './api.ts';
import { expiry } from './table.ts';

const pkOf = (key: string): string => `key#${key}`;
const during = 'writing a key';

export function dynamoKeys(dynamo: Dynamo): KeyTable {
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
