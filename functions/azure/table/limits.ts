/** Slots of limits in the table. Loaded with the first job that has a limit, and by a purge. */

import type { Clock } from '../../../core/base/clock.ts';
import type { LimitStore } from '../../../core/contract/limits.ts';
import { emptyLimit } from '../../../core/kit/records/limit-rules.ts';
import { limitStore } from '../../../core/kit/records/limits.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import type { Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiring.ts';
import { fits, limitPartition, limitPartitions, momentText, textOf, withoutSeparators } from './layout.ts';
import type { Found } from './sdk.ts';

/** All of them are written with every change of the key. */
const mostWaiters = 250;

const rowOf = (name: string): string => `limit:${sortable(name)}`;
const nameOf = (found: Found): string => JSON.parse(found.name!) as string;

function expiringOf(found: Found): Expiring {
  const { partitionKey: partition, rowKey: row, ends, name } = found;
  const properties = { ends: ends!, name: name! };
  return { partition, row, text: textOf(found), endsAt: Number(ends), properties };
}

export function tableLimits(table: Table, clock: Clock): LimitStore {
  const during = 'writing a limit';
  return limitStore(
    {
      mostWaiters,
      fits,
      pauseMs: 10,
      read: (name) =>
        table.call('reading a limit', (api) => readExpiring(api, limitPartition(name), rowOf(name))),
      write: (name, text, over, endsAt) =>
        table.call(during, (api) => {
          const properties = { ends: momentText(endsAt), name: withoutSeparators(JSON.stringify(name)) };
          const [partition, row] = [limitPartition(name), rowOf(name)];
          return writeExpiring(
            api,
            { partition, row, text: withoutSeparators(text), endsAt, properties },
            over,
          );
        }),
      remove: (name, version) =>
        table.call(during, (api) => removeExpiring(api, limitPartition(name), rowOf(name), version)),
      list: (prefix, after, max) =>
        table.call('listing limits', async (api) => {
          const { from, to } = sortableRange(prefix);
          const last = sortable(after);
          if (last >= to) return [];
          // A space comes before all that a row's key may go on with.
          const range = { from: `limit:${last >= from ? `${last} ` : from}`, to: `limit:${to}`, max };
          const found = await Promise.all(
            limitPartitions.map((partition) => api.range({ ...range, partition })),
          );
          return found
            .flat()
            .sort((a, b) => (a.rowKey < b.rowKey ? -1 : 1))
            .slice(0, max)
            .map((row) => {
              const name = nameOf(row);
              // Names that begin with a very long text alike are on the page too, with nothing to show.
              return { name, text: name.startsWith(prefix) ? textOf(row) : JSON.stringify(emptyLimit) };
            });
        }),
    },
    clock,
  );
}

/** Removes what is past its time; returns how many. Bounded. */
export const purgeLimits = (table: Table, now: number): Promise<number> =>
  purgeExpired(table, limitPartitions, expiringOf, now);
