/** Fetches of this process that wait for work. */

import type { Clock } from '../../../core/base/clock.ts';

export type Waiters = ReturnType<typeof createWaiters>;

export function createWaiters(clock: Clock) {
  const waiting = new Set<() => void>();
  let wakes = 0;
  return {
    /** How often they were woken. A fetch compares it before and after it looks for jobs, so that it misses no wake. */
    get wakes() {
      return wakes;
    },
    wake(): void {
      wakes++;
      for (const end of waiting) end();
    },
    /** Resolves at the next wake, after `waitMs`, or when `signal` aborts, whichever is first. Never rejects. */
    wait(waitMs: number, signal?: AbortSignal): Promise<void> {
      if (signal?.aborted || waitMs <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => {
          waiting.delete(end);
          cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const cancel = clock.after(waitMs, end);
        waiting.add(end);
        signal?.addEventListener('abort', end);
      });
    },
  };
}
