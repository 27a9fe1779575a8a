/** Schedules that were made at run time. */

import { randomUUID } from 'node:crypto';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/schedules.ts';
import { shardOf } from '../../../core/kit/records/partitions.ts';
import type { Dynamo } from './api.ts';
import type { Item } from './sdk.ts';
import { sortKeyOf } from './sort-keys.ts';
import { partitionKey, sortKey } from './table.ts';

/** Those that a tick has to look at, by when. One that is paused is in none of them. */
const partitions = Array.from({ length: 8 }, (_, shard) => `schedules#${shard}`);
/** An item beside that of the schedule stands for its name: an item is in the index once. */
const names = 'schedule-names';
/** Comes after every name. */
const last = '~';

const pkOf = (name: string): string => `schedule#${name}`;
const namePkOf = (name: string): string => `schedule-name#${name}`;
const nameOf = (pk: unknown): string => (pk as string).slice((pk as string).indexOf('#') + 1);

const storedOf = ({ pk, nextAt, text, version }: Item): StoredSchedule => ({
  name: nameOf(pk),
  nextAt: (nextAt as number | null | undefined) ?? null,
  text: text as string,
  version: version as string,
});

export function dynamoSchedules(dynamo: Dynamo): ScheduleStore {
  /** In this order. The index lags behind the table: what is gone meanwhile is left out. */
  async function read(wanted: readonly string[]): Promise<StoredSchedule[]> {
    if (wanted.length === 0) return [];
    const items = await dynamo.call('reading schedules', (api) => api.read(wanted.map(pkOf)));
    const found = new Map(items.map((item) => [nameOf(item.pk), storedOf(item)]));
    return wanted.flatMap((name) => found.get(name) ?? []);
  }

  const addName = (name: string): Promise<boolean> =>
    dynamo.call('writing a schedule', (api) =>
      api.write({ pk: namePkOf(name), version: randomUUID(), [partitionKey]: names, [sortKey]: name }),
    );

  return {
    get: async (name) => (await read([name]))[0] ?? null,
    async write({ name, nextAt, text }, over) {
      // First: one that is listed and not there is left out, one that is there and not listed would be found by nobody.
      if (over === null) await addName(name);
      const moment = nextAt === null ? null : Math.ceil(nextAt);
      const placed =
        moment === null
          ? {}
          : {
              [partitionKey]: partitions[shardOf(name, partitions.length)]!,
              [sortKey]: sortKeyOf(moment, name),
            };
      const item = { pk: pkOf(name), version: randomUUID(), nextAt: moment, text, ...placed };
      return dynamo.call('writing a schedule', (api) => api.write(item, over));
    },
    async remove(name) {
      const [row] = await read([name]);
      if (!row || !(await dynamo.call('removing a schedule', (api) => api.remove(pkOf(name), row.version))))
        return false;
      await dynamo.call('removing a schedule', (api) => api.remove(namePkOf(name)));
      // Somebody may have made it anew in between, and found its name there.
      if ((await read([name])).length > 0) await addName(name);
      return true;
    },
    async list({ after = '', max }) {
      const found: StoredSchedule[] = [];
      for (let from = after; found.length < max; ) {
        const query = { partition: names, from, max: max - found.length + 1, forward: true };
        const listed = await dynamo.call('listing schedules', (api) => api.query(query));
        // A range has both of its ends.
        const wanted = listed.map(({ pk }) => nameOf(pk)).filter((name) => name > from);
        if (wanted.length === 0) break;
        found.push(...(await read(wanted)));
        from = wanted.at(-1)!;
      }
      return found.slice(0, max);
    },
    async due(until, max) {
      const range = { to: sortKeyOf(Math.floor(until), last), max, forward: true };
      const found = await dynamo.call('looking for schedules that are due', (api) =>
        Promise.all(partitions.map((partition) => api.query({ ...range, partition }))),
      );
      const first = found
        .flat()
        .sort((a, b) => ((a[sortKey] as string) < (b[sortKey] as string) ? -1 : 1))
        .slice(0, max);
      // Where the index still has an earlier moment than the table, the table is right.
      const rows = await read(first.map(({ pk }) => nameOf(pk)));
      return rows.filter(({ nextAt }) => nextAt !== null && nextAt <= until);
    },
  };
}
