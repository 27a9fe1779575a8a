/** Schedules that were created at run time, over texts: one text per schedule with its next run, and an index by next run. */

import type { Clock } from '../../base/clock.ts';
import type { ScheduleStore, StoredSchedule } from '../../contract/derived/schedules.ts';
import type { StoredText, TextStore } from '../../contract/texts.ts';
import { sectionOf } from './section.ts';
import { timeIndex } from './time-index.ts';

/** The moment of the next run (empty = none), a line break, and the schedule. */
const textOf = (nextAt: number | null, text: string): string => `${nextAt ?? ''}\n${text}`;
const momentIn = (text: string): number | null => (text === '' ? null : Number(text));

/** The version contains the moment, so that the next writer knows the entry in the index. */
function storedOf(name: string, { text, version }: StoredText): StoredSchedule {
  const end = text.indexOf('\n');
  const moment = text.slice(0, end);
  return { name, nextAt: momentIn(moment), text: text.slice(end + 1), version: `${moment} ${version}` };
}

export function textSchedules(texts: TextStore, clock: Clock): ScheduleStore {
  const section = sectionOf(texts, 'schedule/');
  const index = timeIndex(sectionOf(texts, 'due/'), clock);

  async function get(name: string): Promise<StoredSchedule | null> {
    const found = await section.read(name);
    return found && storedOf(name, found);
  }

  const standsOf = (name: string) => async (at: number) => {
    const nextAt = (await get(name))?.nextAt ?? null;
    return nextAt !== null && Math.ceil(nextAt) === Math.ceil(at);
  };

  return {
    get,
    write({ name, nextAt, text }, over) {
      const [moment = '', ...version] = over?.split(' ') ?? [];
      const before = over === null ? null : version.join(' ');
      const write = async () => (await section.write(name, textOf(nextAt, text), before, null)) !== null;
      return index.move(name, momentIn(moment), nextAt, write, standsOf(name));
    },
    async remove(name) {
      for (;;) {
        const found = await section.read(name);
        if (!found) return false;
        const { nextAt } = storedOf(name, found);
        const remove = () => section.remove(name, found.version);
        if (await index.move(name, nextAt, null, remove, standsOf(name))) return true;
      }
    },
    async list({ after = '', max }) {
      return (await section.list('', after, max)).map((text) => storedOf(text.name, text));
    },
    due: (until, max) =>
      index.due(until, max, async (entries) => {
        const found = await section.readAll(entries.map(({ name }) => name));
        return entries.map(({ at, name }, i) => {
          const stored = found[i] ? storedOf(name, found[i]) : null;
          return stored?.nextAt != null && Math.ceil(stored.nextAt) === at && stored.nextAt <= until
            ? stored
            : null;
        });
      }),
  };
}
