/** The open batches by the time of their next look. Each has an entry, which a look replaces by the next one. */

import type { LimitTable } from './limits.ts';
import { momentText } from './sortable.ts';

/** The text of an entry is the id of its batch. An earlier release named entries by the id alone. */
const entryPattern = /^o(\d{16})\.(.*)$/s;
const pageSize = 100;
/** Processes of that release may still write their entries. */
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
     * Calls `look` with the due batches, the earliest first. `look` answers the time of the next look, `gone` to remove the entry, or
     * `stop` to end the loop.
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
          if (!isOld && id !== text) continue; // removed, but an index still shows it
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
