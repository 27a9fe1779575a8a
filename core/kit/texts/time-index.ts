/**
 * An index of texts by time: an entry for each, a text of its own whose name begins with the moment. Two writes cannot be one, so the entry
 * comes before what it stands for, and the entry of the moment before goes afterwards. A process that dies in between leaves an entry
 * of nothing. Who reads the index removes it, but not at once: what it stands for may be about to be written.
 */

import type { Clock } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import type { NamedText } from '../../contract/texts.ts';
import { momentText } from '../records/sortable.ts';
import type { Section } from './section.ts';

/** An entry that stands for nothing after so long has been left behind. */
const staleMs = 3_600_000;
const pageSize = 200;

export interface TimeEntry {
  readonly at: number;
  readonly name: string;
}

const entryName = ({ at, name }: TimeEntry): string => `${momentText(at)}.${name}`;

/** @param section has nothing else in it. The text of an entry says when it was written, and is a new one each time. */
export function timeIndex(section: Section, clock: Clock) {
  const put = (entry: TimeEntry) =>
    section.write(entryName(entry), `${clock.now()} ${crypto().randomUUID()}`, undefined, null);

  /**
   * Moves a text from one moment to another, `null` = to none, around the write of the text itself. That write answers `false` when another
   * writer was first. @param stands whether the text is at this moment, asked after a race that was lost
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
    // Removed by its version: somebody may move the text back meanwhile, and writes the entry anew for that.
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
   * The earliest up to a moment. @param find what they stand for, in their order; `null` = nothing, or it is at another moment
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
