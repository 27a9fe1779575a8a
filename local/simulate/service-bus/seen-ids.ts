/** The message ids that a queue has seen within its window. */

import type { Clock } from '../../../core/base/clock.ts';

export interface SeenIds {
  /** `false` when it was added within the window before. */
  add(id: string, windowMs: number): boolean;
}

export function createSeenIds(clock: Clock): SeenIds {
  /** When each is forgotten, oldest first. */
  const ends = new Map<string, number>();
  return {
    add(id, windowMs) {
      const now = clock.now();
      for (const [old, end] of ends) {
        if (end > now) break;
        ends.delete(old);
      }
      if (ends.has(id)) return false;
      ends.set(id, now + windowMs);
      return true;
    },
  };
}
