/** Fetches of this process that wait for work. */

import type { Clock } from '../../../core/base/clock.ts';

export type Waiters = ReturnType<typeof createWaiters>;

export function createWaiters(clock: Clock) {
  /** The callbacks that end the waits, each with its queues; `null` = all queues. */
  const waiting = new Map<() => void, readonly string[] | null>();
  /** How often each queue was woken by its name. */
  const woken = new Map<string, number>();
  let wakesOfAll = 0;
  let wakesOfOne = 0;
  return {
    /**
     * How often these queues were woken; without queues, every wake counts. A fetch compares the count before and after it looks for
     * jobs, so that it misses no wake.
     */
    wakes(queues?: readonly string[]): number {
      if (!queues) return wakesOfAll + wakesOfOne;
      let count = wakesOfAll;
      for (const queue of queues) count += woken.get(queue) ?? 0;
      return count;
    },
    /** @param queue absent = wakes all waiting fetches */
    wake(queue?: string): void {
      if (queue === undefined) wakesOfAll++;
      else {
        wakesOfOne++;
        woken.set(queue, (woken.get(queue) ?? 0) + 1);
      }
      for (const [end, queues] of waiting)
        if (queue === undefined || queues === null || queues.includes(queue)) end();
    },
    /** Resolves at the next wake, after `waitMs`, or when `signal` aborts, whichever is first. Never rejects. */
    wait(waitMs: number, signal?: AbortSignal, queues: readonly string[] | null = null): Promise<void> {
      if (signal?.aborted || waitMs <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => {
          waiting.delete(end);
          cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const cancel = clock.after(waitMs, end);
        waiting.set(end, queues);
        signal?.addEventListener('abort', end);
      });
    },
  };
}
