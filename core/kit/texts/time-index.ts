/**
 * An index of texts by time. Each entry is a text whose name begins with the moment. Two writes are not atomic, so the new entry
 * is written before its text, and the old entry is removed after it. A process that dies in between leaves a stale entry. Readers of
 * the index remove it, but only after `staleMs`: its text may be about to be written.
 */

import type { Clock } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { NamedText } from '../../contract/texts.ts';
import { momentText } from '../records/sortable.ts';
import type { Section } from './section.ts';

/** An entry that still has no text after this time is stale. */
const staleMs = 3_600_000;
const pageSize = 200;

export interface TimeEntry {
  readonly at: number;
  readonly name: string;
}

const entryName = ({ at, name }: TimeEntry): string => `${momentText(at)}.${name}`;

/** @param section holds only this index. The text of an entry is when it was written and a random id. */
export function timeIndex(section: Section, clock: Clock) {
  const put = (entry: TimeEntry) =>
    section.write(entryName(entry), `${clock.now()} ${crypto().randomUUID()}`, undefined, null);

  /**
   * Moves a text from one moment to another (`null` = none) around the write of the text itself. `write` answers `false` when another
   * writer was first. @param stands whether the text is at this moment; called after a lost race
   */
  async function move(
    name: string,
    from: number | null,
    to: number | null,
    write: () => Promise<boolean>,
    stands: (at: number) => Promise<boolean>,
  ): Promise<boolean> {
    const begun = clock.now();
    const moves = from === null || to === null || momentText(from) !== momentText(to);
    // Removed by its version, because another process may have moved the text back and written the entry again.
    const [old, version] = await Promise.all([
      from !== null && moves ? section.read(entryName({ at: from, name })) : null,
      to !== null && moves ? put({ at: to, name }) : null,
    ]);
    if (await write()) {
      if (to !== null && moves && clock.now() - begun > staleMs / 2) await put({ at: to, name });
      if (old) await section.remove(entryName({ at: from!, name }), old.version);
      return true;
    }
    if (version !== null && !(await stands(to!))) await section.remove(entryName({ at: to!, name }), version);
    return false;
  }

  /**
   * The earliest texts up to a moment. @param find the texts of these entries, in order; `null` = missing, or at another moment
   */
  async function due<T>(
    until: number,
    max: number,
    find: (entries: readonly TimeEntry[]) => Promise<readonly (T | null)[]>,
  ): Promise<T[]> {
    const found: T[] = [];
    for (let after = ''; found.length < max; ) {
      const before = momentText(Math.floor(until) + 1);
      const most = Math.min(pageSize, max - found.length);
      const page = await section.range({ prefix: '', after, before, max: most });
      const texts = await find(page.map(entryOf));
      for (const [i, text] of texts.entries()) {
        if (text !== null) found.push(text);
        else await removeStale(page[i]!);
      }
      if (page.length < most) break;
      after = page.at(-1)!.name;
    }
    return found;
  }

  async function removeStale({ name, text, version }: NamedText): Promise<void> {
    if (clock.now() - Number.parseInt(text, 10) > staleMs) await section.remove(name, version);
  }

  return { move, due };
}

const entryOf = ({ name }: NamedText): TimeEntry => ({ at: Number(name.slice(0, 16)), name: name.slice(17) });
