/** The waiting messages of one queue: delayed ones by time, ready ones by rank. */

import { before, type Entry, type ReadyItem } from './entry.ts';
import { createHeap } from './heap.ts';

export type ReadyList = ReturnType<typeof createReadyList>;

/**
 * Stale items, of entries that have left or moved, stay in the heaps until they reach the top.
 * @param isLined puts an entry that is now ready into the line of its group, and tells whether it did
 */
export function createReadyList(isLined: (entry: Entry, now: number) => boolean) {
  const ready = createHeap<ReadyItem>(before);
  const delayed = createHeap<ReadyItem>((a, b) => a.at < b.at);
  const current = (item: ReadyItem, state: Entry['state']) =>
    item.entry.state === state && item.entry.item === item;

  function promote(now: number): void {
    for (let next = delayed.peek(); next && next.at <= now; next = delayed.peek()) {
      delayed.pop();
      if (!current(next, 'delayed')) continue;
      next.entry.state = 'ready';
      if (!isLined(next.entry, now)) ready.push(next);
    }
    for (let next = ready.peek(); next && !current(next, 'ready'); next = ready.peek()) ready.pop();
  }

  return {
    push(entry: Entry): void {
      const { readyAt: at, rank, seq } = entry;
      const item: ReadyItem = { entry, at, rank, seq };
      entry.item = item;
      (entry.state === 'delayed' ? delayed : ready).push(item);
    },
    /** The next ready entry, left in place. */
    first(now: number): Entry | undefined {
      promote(now);
      return ready.peek()?.entry;
    },
    take(now: number): Entry | undefined {
      promote(now);
      return ready.pop()?.entry;
    },
    /** When the next delayed entry becomes ready; `Infinity` = there is none. */
    nextReadyAt: (): number => delayed.peek()?.at ?? Infinity,
  };
}
