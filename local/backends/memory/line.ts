/** The waiting messages of one queue: delayed ones by time, ready ones by rank. */

import { before, type Entry } from './entry.ts';
import { createHeap } from './heap.ts';

export interface Line {
  push(entry: Entry): void;
  /** The next ready entry, left in place. */
  first(now: number): Entry | undefined;
  take(now: number): Entry | null;
  /** When the next delayed entry becomes ready. */
  nextDue(): number | null;
}

/** Entries that were cancelled or cleared stay in the heaps until they surface: `at` tells a stale place from the real one. */
interface Place {
  readonly entry: Entry;
  readonly at: number;
  readonly attempt: number;
}

export function createLine(): Line {
  const ready = createHeap<Place>((a, b) => before(a.entry, b.entry));
  const delayed = createHeap<Place>((a, b) => a.at < b.at);
  const current = ({ entry, at, attempt }: Place, state: Entry['state']) =>
    entry.state === state && entry.readyAt === at && entry.attempt === attempt;

  function settle(now: number): void {
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
      const place = { entry, at: entry.readyAt, attempt: entry.attempt };
      (entry.state === 'delayed' ? delayed : ready).push(place);
    },
    first(now) {
      settle(now);
      return ready.peek()?.entry;
    },
    take(now) {
      settle(now);
      return ready.pop()?.entry ?? null;
    },
    nextDue: () => delayed.peek()?.at ?? null,
  };
}
