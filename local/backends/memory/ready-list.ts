/** The waiting messages of one queue: delayed ones by time, ready ones by rank. */

import { before, type Entry } from './entry.ts';
import { createHeap } from './heap.ts';

export interface ReadyList {
  push(entry: Entry): void;
  /** The next ready entry, left in place. */
  first(now: number): Entry | undefined;
  take(now: number): Entry | null;
  /** When the next delayed entry becomes ready. */
  nextReadyAt(): number | null;
}

/** Entries that were cancelled or cleared stay in the heaps until they surface: `at` tells a stale item from a current one. */
interface Item {
  readonly entry: Entry;
  readonly at: number;
  readonly attempt: number;
}

export function createReadyList(): ReadyList {
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
    push(entry) {
      const item = { entry, at: entry.readyAt, attempt: entry.attempt };
      (entry.state === 'delayed' ? delayed : ready).push(item);
    },
    first(now) {
      promote(now);
      return ready.peek()?.entry;
    },
    take(now) {
      promote(now);
      return ready.pop()?.entry ?? null;
    },
    nextReadyAt: () => delayed.peek()?.at ?? null,
  };
}
