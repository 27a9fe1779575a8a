/** Wakes whoever waits for work, without polling. */

import type { Clock } from '../../../core/base/clock.ts';

export interface Bell {
  ring(): void;
  /** How often it has rung: who looks for work before waiting for it compares, so as not to sleep through a ring. */
  readonly rings: number;
  /** Resolves at the next ring, after `waitMs`, or when `signal` aborts, whichever is first. Never rejects. */
  wait(waitMs: number, signal?: AbortSignal): Promise<void>;
}

export function createBell(clock: Clock): Bell {
  const waiting = new Set<() => void>();
  let rings = 0;
  return {
    get rings() {
      return rings;
    },
    ring() {
      rings++;
      for (const wake of waiting) wake();
    },
    wait(waitMs, signal) {
      if (signal?.aborted || waitMs <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          cancel();
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const cancel = clock.after(waitMs, wake);
        waiting.add(wake);
        signal?.addEventListener('abort', wake);
      });
    },
  };
}
