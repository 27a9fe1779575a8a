/** Texts of steps and events in the table. */

import type { StepStore } from '../../../core/contract/steps.ts';
import { sortable } from '../../../core/kit/records/sortable.ts';
import type { Table } from './api.ts';
import { type Expiring, purgeExpired, readExpiring, removeExpiring, writeExpiring } from './expiry.ts';
import { momentText, stepPartition, stepPartitions, textOf } from './layout.ts';
import type { Found } from './sdk.ts';

const rowOf = (name: string): string => `step:${sortable(name)}`;

function expiringOf(found: Found): Expiring {
  const { partitionKey: partition, rowKey: row, ends } = found;
  return { partition, row, text: textOf(found), endsAt: Number(ends), properties: { ends: ends! } };
}

/** A batch does not answer with the version that it made: it has to be read before it can be written over. */
const unread = 'unread';

export function tableSteps(table: Table): StepStore {
  const during = 'writing steps';
  return {
    read: (name) => table.call('reading steps', (api) => readExpiring(api, stepPartition(name), rowOf(name))),
    async write(name, text, over, endsAt) {
      if (over === unread) return null;
      const [partition, row] = [stepPartition(name), rowOf(name)];
      const given = {
        ...{ partition, row, text, endsAt },
        properties: { ends: momentText(endsAt) },
      };
      return (await table.call(during, (api) => writeExpiring(api, given, over))) ? unread : null;
    },
    async remove(name, version) {
      if (version === unread) return false;
      return table.call(during, (api) => removeExpiring(api, stepPartition(name), rowOf(name), version));
    },
  };
}

/** Removes what is past its time; returns how many. Bounded. */
export const purgeSteps = (table: Table, now: number): Promise<number> =>
  purgeExpired(table, stepPartitions, expiringOf, now);
