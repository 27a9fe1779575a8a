/** Only the first entry of each group, the head, is in the ready list of its queue. The others wait in line behind it. */

import { mostAheadMs } from '../shared/groups.ts';
import { type Entry, isWaiting } from './entry.ts';
import { createHeap } from './heap.ts';

interface Group {
  readonly line: ReturnType<typeof createHeap<Lined>>;
  readonly leased: Set<Entry>;
  /** Ready, or delayed while the others wait for its retry. */
  head: Entry | null;
  lastPlace: number;
  /** When the last head counted as ready. */
  lastReadyAt: number;
}

/** A stale item stays in the heap after its entry has left the line: it differs from `entry.lined`. */
interface Lined {
  readonly entry: Entry;
  readonly place: number;
}

const isFirst = (a: Lined, b: Lined): boolean =>
  a.place !== b.place ? a.place < b.place : a.entry.seq < b.entry.seq;

export type Groups = ReturnType<typeof createGroups>;

/** @param stand puts the head of a group into the ready list, ranked as if it had become ready at `readyAt` */
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

  /** Makes the next entry of the group its head, if it may run. */
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
    /** Puts a ready entry into the line of its group, at its old place if it has one. */
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
     * Delays an entry. If the order makes the others wait for its retry, it becomes the head meanwhile.
     * @param mayHold the entry was leased or the head. The others do not wait for an entry that was delayed in line
     */
    delay(entry: Entry, now: number, mayHold: boolean): void {
      const group = groups.get(nameOf(entry));
      if (mayHold && group?.head === entry) group.head = null;
      const isFree = group && !(group.head && isWaiting(group.head));
      if (mayHold && isFree && entry.place !== null && entry.message.order === 'wait') group.head = entry;
      advance(entry, now);
    },
    isHead: (entry: Entry): boolean => groups.get(nameOf(entry))?.head === entry,
    /** Records that an entry is leased or held. */
    lease(entry: Entry, now: number): void {
      const group = groupOf(entry);
      group.leased.add(entry);
      if (group.head === entry) group.head = null;
      advance(entry, now);
    },
  };
}
