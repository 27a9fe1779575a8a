/** The waiting messages of one queue: delayed ones by time, ready ones by rank. */

import { before, type KeptJob } from '../../../core/kit/in-memory/job.ts';
import { createHeap } from './heap.ts';

/** The place of a job in a ready list. */
interface ReadyItem {
  readonly job: KeptJob;
  readonly at: number;
  readonly rank: number;
  readonly seq: number;
}

export type ReadyList = ReturnType<typeof createReadyList>;

/**
 * Stale items, of jobs that have left or moved, stay in the heaps until they reach the top.
 * @param isLined puts a job that is now ready into the line of its group, and tells whether it did
 */
export function createReadyList(isLined: (job: KeptJob, now: number) => boolean) {
  const ready = createHeap<ReadyItem>(before);
  const delayed = createHeap<ReadyItem>((a, b) => a.at < b.at);
  const current = (item: ReadyItem, state: KeptJob['state']) =>
    item.job.state === state && item.job.item === item;

  function promote(now: number): void {
    for (let next = delayed.peek(); next && next.at <= now; next = delayed.peek()) {
      delayed.pop();
      if (!current(next, 'delayed')) continue;
      next.job.state = 'ready';
      if (!isLined(next.job, now)) ready.push(next);
    }
    for (let next = ready.peek(); next && !current(next, 'ready'); next = ready.peek()) ready.pop();
  }

  return {
    push(job: KeptJob): void {
      const { readyAt: at, rank, seq } = job;
      const item: ReadyItem = { job, at, rank, seq };
      job.item = item;
      (job.state === 'delayed' ? delayed : ready).push(item);
    },
    /** The next ready job, left in place. */
    first(now: number): KeptJob | undefined {
      promote(now);
      return ready.peek()?.job;
    },
    take(now: number): KeptJob | undefined {
      promote(now);
      return ready.pop()?.job;
    },
    /** When the next delayed job becomes ready; `Infinity` = there is none. */
    nextReadyAt: (): number => delayed.peek()?.at ?? Infinity,
  };
}
