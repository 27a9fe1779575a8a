/** Of each group one entry stands among the ready ones of its queue; the others wait in line behind it. */

import { mostAheadMs } from '../shared/groups.ts';
import { type Entry, isWaiting } from './entry.ts';
import { createHeap } from './heap.ts';

interface Group {
  readonly line: ReturnType<typeof createHeap<Lined>>;
  readonly leased: Set<Entry>;
  /** Among the ready ones, or among the delayed ones while the others wait for its retry. */
  head: Entry | null;
  lastPlace: number;
  /** When the last head counted as ready. */
  lastReadyAt: number;
}

/** Stays in the heap when its entry has left the line: then it is not the entry's own any more. */
interface Lined {
  readonly entry: Entry;
  readonly place: number;
}

const isFirst = (a: Lined, b: Lined): boolean =>
  a.place !== b.place ? a.place < b.place : a.entry.seq < b.entry.seq;

export type Groups = ReturnType<typeof createGroups>;

/** @param stand puts the head of a group among the ready ones, ranked as if it had become ready then */
export function createGroups(ageingMs: number, stand: (head: Entry, readyAt: number) => void) {
  const groups = new Map<string, Group>();
  const nameOf = ({ message }: Entry): string => JSON.stringify([message.queue, message.group]);

  function groupOf(entry: Entry): Group {
    const name = nameOf(entry);
    let group = groups.get(name);
    if (!group) {
      group = { line: createHeap(isFirst), leased: new Set(), head: null, lastPlace: 0, lastReadyAt: 0 };
      groups.set(name, group);
    }
    return group;
  }

  function firstInLine({ line }: Group): Entry | null {
    for (let next = line.peek(); next; next = line.peek()) {
      if (next.entry.lined === next) return next.entry;
      line.pop();
    }
    return null;
  }

  /** Lets the next one of the entry's group come forward, if it may. */
  function advance(entry: Entry, now: number): void {
    const group = groups.get(nameOf(entry));
    if (!group || (group.head && isWaiting(group.head))) return;
    group.head = null;
    for (const one of group.leased) if (one.state !== 'leased') group.leased.delete(one);
    const next = firstInLine(group);
    if (!next) {
      if (group.leased.size === 0) groups.delete(nameOf(entry));
    } else if (!next.message.order || group.leased.size === 0) {
      next.lined = null;
      group.head = next;
      group.lastReadyAt = Math.min(now + mostAheadMs, Math.max(now, group.lastReadyAt + 1));
      stand(next, group.lastReadyAt);
    }
  }

  return {
    advance,
    /** An entry that is ready joins the line of its group, in its old place if it had one. */
    join(entry: Entry, now: number): void {
      const group = groupOf(entry);
      const { priority, order } = entry.message;
      entry.place ??= order
        ? Math.max(entry.readyAt, group.lastPlace + 1)
        : entry.readyAt + priority * ageingMs;
      group.lastPlace = Math.max(group.lastPlace, entry.place);
      const lined = { entry, place: entry.place };
      entry.lined = lined;
      group.line.push(lined);
      advance(entry, now);
    },
    /**
     * An entry has to wait for its time. Where the others wait for its retry, it is the head meanwhile.
     * @param mayHold it was leased or the head: nobody waits for one that was put off in the line
     */
    delay(entry: Entry, now: number, mayHold: boolean): void {
      const group = groups.get(nameOf(entry));
      if (mayHold && group?.head === entry) group.head = null;
      const isFree = group && !(group.head && isWaiting(group.head));
      if (mayHold && isFree && entry.place !== null && entry.message.order === 'wait') group.head = entry;
      advance(entry, now);
    },
    isHead: (entry: Entry): boolean => groups.get(nameOf(entry))?.head === entry,
    /** An entry is leased or held. */
    lease(entry: Entry, now: number): void {
      const group = groupOf(entry);
      group.leased.add(entry);
      if (group.head === entry) group.head = null;
      advance(entry, now);
    },
  };
}
