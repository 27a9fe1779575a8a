import { randomUUID } from 'node:crypto';
import { forEach } from '../../../core/kit/parallel.ts';
import { endOf, type KeyTable, type StoredKey } from '../../../core/kit/records/keys.ts';
import type { Table } from './api.ts';
import { keyPartition, keyPartitions, momentText, safe, textOf, textProperties } from './layout.ts';
import type { Entity, Found, TableApi } from './sdk.ts';

const during = 'writing a key';
/** One purge call looks at most at so many keys of a partition. */
const stepSize = 100;

interface Version {
  readonly etag: string;
  /** The row that says when to check whether the key may be removed. */
  readonly look: string;
}

const rowOf = (key: string): string => `key:${safe(key)}`;
const lookAt = (at: number): string => `look:${momentText(at)}:${randomUUID()}`;

function entityOf(partitionKey: string, rowKey: string, look: string, stored: StoredKey): Entity {
  return { partitionKey, rowKey, look, ...textProperties(JSON.stringify(stored)) };
}

export function tableKeys(table: Table): KeyTable {
  return {
    async read(key) {
      const found = await table.call(during, (api) => api.get(keyPartition(key), rowOf(key)));
      if (!found) return null;
      const version: Version = { etag: found.etag, look: found.look! };
      return { stored: JSON.parse(textOf(found)), version: JSON.stringify(version) };
    },

    write: (key, stored, over) =>
      table.call(during, (api) => {
        const [partition, row] = [keyPartition(key), rowOf(key)];
        if (over === null) {
          const look = lookAt(endOf(stored));
          return api.commit(partition, [
            { create: entityOf(partition, row, look, stored) },
            { create: { partitionKey: partition, rowKey: look, key: row } },
          ]);
        }
        // Extending a hold is one write: the look row stays, and a purge that looks too early moves it.
        const { etag, look } = JSON.parse(over) as Version;
        return api.commit(partition, [{ update: entityOf(partition, row, look, stored), over: etag }]);
      }),

    remove: (key, version) =>
      table.call(during, async (api) => {
        const { etag, look } = JSON.parse(version) as Version;
        const partition = keyPartition(key);
        if (!(await api.remove(partition, rowOf(key), etag))) return false;
        await api.remove(partition, look); // a purge removes one that is left behind
        return true;
      }),
  };
}

/** Removes keys past their time; returns how many. Bounded. */
export async function purgeKeys(table: Table, now: number): Promise<number> {
  let count = 0;
  await table.call('purging', (api) =>
    forEach(keyPartitions, async (partition) => {
      const range = { partition, from: 'look:', to: `look:${momentText(now + 1)}`, max: stepSize };
      for (const look of await api.range(range)) if (await lookInto(api, look, now)) count++;
    }),
  );
  return count;
}

/** `true`: the key was past its time and was removed. */
async function lookInto(api: TableApi, look: Found, now: number): Promise<boolean> {
  const { partitionKey: partition, rowKey, key } = look;
  const found = await api.get(partition, key!);
  const stored = found?.look === rowKey ? (JSON.parse(textOf(found)) as StoredKey) : null;
  if (found && stored && endOf(stored) > now) {
    const later = lookAt(endOf(stored));
    await api.commit(partition, [
      { update: entityOf(partition, key!, later, stored), over: found.etag },
      { create: { partitionKey: partition, rowKey: later, key: key! } },
      { remove: rowKey },
    ]);
    return false;
  }
  // Where the key is gone, or has another look row by now, only this look row is removed.
  if (found && stored && !(await api.remove(partition, key!, found.etag))) return false;
  await api.remove(partition, rowKey);
  return stored !== null;
}
