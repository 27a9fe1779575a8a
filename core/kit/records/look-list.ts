/** The batches that somebody has to look at, in the order of when. Each has an entry in that list, and another one after each look. */

import type { LimitTable } from './limits.ts';
import { momentText } from './sortable.ts';

/** Texts of `o`: the id of the batch. The release before named an entry by the id alone. */
const entryPattern = /^o(\d{16})\.(.*)$/s;
const pageSize = 100;
/** Processes of the release before may still write theirs. */
const oldEveryMs = 3_600_000;

const entryName = (id: string, at: number): string => `o${momentText(at)}.${id}`;

export function lookList(
  table: Pick<LimitTable, 'remove' | 'list'>,
  write: (name: string, text: string) => Promise<unknown>,
) {
  let oldAt = Number.NEGATIVE_INFINITY;

  return {
    put: (id: string, at: number) => write(entryName(id, at), id),
    remove: (id: string, at: number) => table.remove(entryName(id, at)),
    /**
     * Calls `look` with those that are due, the earliest first, until it answers `stop`; an answered time is that of its next entry.
     * `gone` = it needs no entry any more.
     */
    async each(
      now: number,
      look: (id: string, at: number) => Promise<number | 'gone' | 'stop'>,
    ): Promise<void> {
      const all = now >= oldAt;
      for (let after = ''; ; ) {
        const page = await table.list('o', after, pageSize);
        for (const { name, text, version } of page) {
          const [, at = '', id] = entryPattern.exec(name) ?? [];
          const isOld = name === `o${text}`;
          if (!isOld && id !== text) continue; // it is gone, and an index shows it still
          if (!isOld && Number(at) > now) {
            if (all) continue;
            return;
          }
          const next = await look(text, isOld ? now : Number(at));
          if (next === 'stop') return;
          const entry = next === 'gone' ? null : entryName(text, next);
          if (entry === name) continue;
          if (entry !== null) await write(entry, text);
          await table.remove(name, version);
        }
        if (page.length < pageSize) break;
        after = page.at(-1)!.name;
      }
      if (all) oldAt = now + oldEveryMs;
    },
  };
}
