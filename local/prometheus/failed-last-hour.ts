/**
 * Failures of the last hour by queue, as this process has seen them. A source that knows those of all processes can stand here
 * instead: the gauge asks for nothing but `read`.
 */

import type { Clock } from '../../core/base/clock.ts';

export interface FailureWindow {
  add(queue: string): void;
  /** By queue; 0 for one whose failures are longer ago. */
  read(): ReadonlyMap<string, number>;
}

const minuteMs = 60_000;
const minutes = 60;

/** Counts by minute. The minute that has begun counts whole, so the oldest one is left out when the hour is over. */
export function createFailureWindow(clock: Clock): FailureWindow {
  const queues = new Map<string, Minutes>();
  const minuteNow = () => Math.floor(clock.now() / minuteMs);

  function startOf(queue: string): Minutes {
    const started = { counts: new Float64Array(minutes), newest: minuteNow() };
    queues.set(queue, started);
    return started;
  }

  return {
    add(queue) {
      const found = queues.get(queue) ?? startOf(queue);
      roll(found, minuteNow());
      found.counts[found.newest % minutes]! += 1;
    },
    read() {
      const minute = minuteNow();
      const sums = new Map<string, number>();
      for (const [queue, found] of queues) {
        roll(found, minute);
        sums.set(
          queue,
          found.counts.reduce((a, b) => a + b, 0),
        );
      }
      return sums;
    },
  };
}

interface Minutes {
  readonly counts: Float64Array;
  newest: number;
}

/** Empties the minutes that have come round again. After a clock was set back its newest minute goes on. */
function roll(found: Minutes, minute: number): void {
  const passed = Math.min(minutes, minute - found.newest);
  for (let i = 0; i < passed; i++) found.counts[(minute - i) % minutes] = 0;
  found.newest = Math.max(found.newest, minute);
}
