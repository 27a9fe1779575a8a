import type { ScheduleStore, StoredSchedule } from '../../../core/contract/schedules.ts';

export function memorySchedules(): ScheduleStore {
  const rows = new Map<string, StoredSchedule>();
  let writes = 0;
  const byName = (a: StoredSchedule, b: StoredSchedule): number => (a.name < b.name ? -1 : 1);
  return {
    get: async (name) => rows.get(name) ?? null,
    async write({ name, nextAt, text }, over) {
      if ((rows.get(name)?.version ?? null) !== over) return false;
      rows.set(name, { name, nextAt, text, version: String(++writes) });
      return true;
    },
    remove: async (name) => rows.delete(name),
    list: async ({ after = '', max }) =>
      [...rows.values()]
        .filter(({ name }) => name > after)
        .sort(byName)
        .slice(0, max),
    due: async (until, max) =>
      [...rows.values()]
        .filter(({ nextAt }) => nextAt !== null && nextAt <= until)
        .sort((a, b) => a.nextAt! - b.nextAt! || byName(a, b))
        .slice(0, max),
  };
}
