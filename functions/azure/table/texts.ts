/** Texts by name in the table, which can compare and swap: what limits and batches are made of. */

import { withoutSeparators } from '../../../core/base/json.ts';
import { emptyLimit } from '../../../core/kit/records/limit-rules.ts';
import type { LimitTable } from '../../../core/kit/records/limits.ts';
import { sortable, sortableRange } from '../../../core/kit/records/sortable.ts';
import type { Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiry.ts';
import { fits, limitPartition, limitPartitions, momentText, textOf } from './layout.ts';
import type { Found } from './sdk.ts';

const nameOf = (found: Found): string => JSON.parse(found.name!) as string;

function expiringOf(found: Found): Expiring {
  const { partitionKey: partition, rowKey: row, ends, name } = found;
  const properties = { ends: ends!, name: name! };
  return { partition, row, text: textOf(found), endsAt: Number(ends), properties };
}

/** @param kind what the keys of the rows begin with */
export function tableTexts(table: Table, kind: 'limit' | 'batch'): LimitTable {
  const [one, all] = kind === 'limit' ? ['a limit', 'limits'] : ['a batch', 'batches'];
  const during = `writing ${one}`;
  const rowOf = (name: string): string => `${kind}:${sortable(name)}`;
  return {
    fits,
    pauseMs: 10,
    read: (name) =>
      table.call(`reading ${one}`, (api) => readExpiring(api, limitPartition(name), rowOf(name))),
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
      table.call(`listing ${all}`, async (api) => {
        const { from, to } = sortableRange(prefix);
        const last = sortable(after);
        if (last >= to) return [];
        // A space comes before all that a row's key may go on with.
        const range = { from: `${kind}:${last >= from ? `${last} ` : from}`, to: `${kind}:${to}`, max };
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
  };
}

/** Removes what is past its time; returns how many. Bounded. */
export const purgeTexts = (table: Table, now: number): Promise<number> =>
  purgeExpired(table, limitPartitions, expiringOf, now);
