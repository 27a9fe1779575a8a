/** The waiting messages of one queue: delayed ones by time, ready ones by rank. */

import { before, type Entry } from './entry.ts';
import { createHeap } from './heap.ts';

export type ReadyList = ReturnType<typeof createReadyList>;

/** Entries that were cancelled or cleared stay in the heaps until they surface: `at` tells a stale item from a current one. */
interface Item {
  readonly entry: Entry;
  readonly at: number;
  readonly attempt: number;
}

export function createReadyList() {
  const ready = createHeap<Item>((a, b) => before(a.entry, b.entry));
  const delayed = createHeap<Item>((a, b) => a.at < b.at);
  const current = ({ entry, at, attempt }: Item, state: Entry['state']) =>
    entry.state === state && entry.readyAt === at && entry.attempt === attempt;

  function promote(now: number): void {
    for (let next = delayed.peek(); next && next.at <= now; next = delayed.peek()) {
      delayed.pop();
      if (!current(next, 'delayed')) continue;
      next.entry.state = 'ready';
      ready.push(next);
    }
    for (let next = ready.peek(); next && !current(next, 'ready'); next = ready.peek()) ready.pop();
  }

  return {
    push(entry: Entry): void {
      const item = { entry, at: entry.readyAt, attempt: entry.attempt };
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
