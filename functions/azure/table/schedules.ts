/** Schedules that were created at run time. */

import { withoutSeparators } from '../../../core/base/json.ts';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/derived/schedules.ts';
import { momentText } from '../../../core/kit/records/sortable.ts';
import { schedulesPartition as partition, textOf, textProperties } from './layout.ts';
import type { Entity, Found, Step, Table } from './sdk.ts';

const rowOf = (name: string): string => `name:${name}`;
const dueRowOf = (name: string, nextAt: number): string => `due:${momentText(nextAt)}:${name}`;
/** Separates the etag from the name of the `due` row in a version. */
const between = ' ';

function storedOf(found: Found): StoredSchedule {
  const { rowKey, etag, next = '', due = '' } = found;
  return {
    name: rowKey.slice(rowOf('').length),
    nextAt: next === '' ? null : Number(next),
    text: textOf(found),
    version: `${etag}${between}${due}`,
  };
}

export function tableSchedules(table: Table): ScheduleStore {
  const get = (name: string): Promise<Found | null> =>
    table.call('reading schedules', (api) => api.get(partition, rowOf(name)));

  return {
    async get(name) {
      const found = await get(name);
      return found && storedOf(found);
    },
    async write({ name, nextAt, text }, over) {
      const due = nextAt === null ? '' : dueRowOf(name, nextAt);
      const next = nextAt === null ? '' : momentText(nextAt);
      const properties = { next, due, ...textProperties(withoutSeparators(text)) };
      const entity: Entity = { partitionKey: partition, rowKey: rowOf(name), ...properties };
      const cut = over === null ? 0 : over.lastIndexOf(between);
      const before = over === null ? '' : over.slice(cut + 1);
      const steps: Step[] = [
        over === null ? { create: entity } : { update: entity, over: over.slice(0, cut) },
      ];
      // Both rows change together, so that a tick finds every schedule and no missing one.
      if (before !== '' && before !== due) steps.push({ remove: before });
      if (due !== '' && before !== due) steps.push({ put: { partitionKey: partition, rowKey: due, name } });
      return table.call('writing a schedule', (api) => api.commit(partition, steps));
    },
    async remove(name) {
      for (;;) {
        const found = await get(name);
        if (!found) return false;
        const { due = '' } = found;
        const isGone = await table.call('removing a schedule', (api) =>
          due === ''
            ? api.remove(partition, rowOf(name), found.etag)
            : api.commit(partition, [{ remove: rowOf(name) }, { remove: due }]),
        );
        if (isGone) return true; // else it has changed meanwhile
      }
    },
    list: ({ after = '', max }) =>
      table.call('listing schedules', async (api) => {
        // `!` sorts before all characters that can follow in a name.
        const from = after === '' ? rowOf('') : `${rowOf(after)}!`;
        return (await api.range({ partition, from, to: 'name;', max })).map(storedOf);
      }),
    due: (until, max) =>
      table.call('looking for schedules that are due', async (api) => {
        const to = `due:${momentText(Math.floor(until) + 1)}`;
        const rows = await api.range({ partition, from: 'due:', to, max });
        const found = await Promise.all(rows.map(({ name }) => api.get(partition, rowOf(name!))));
        return found.flatMap((one) => (one ? storedOf(one) : [])).filter((one) => isDue(one, until));
      }),
  };
}

const isDue = ({ nextAt }: StoredSchedule, until: number): boolean => nextAt !== null && nextAt <= until;
