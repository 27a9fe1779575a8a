/** Times of a schedule for which no job was enqueued: counted, and the last ones kept with its cursor. */

import type { App } from '../../kernel/app/app.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';

export interface Skipped {
  /** The first and the last time, epoch ms. */
  readonly at: number;
  readonly lastAt: number;
  /** At most 10,000. */
  readonly count: number;
  /** `overlap`: the last job was unfinished. `missed`: no tick came in time. `paused`: the schedule was paused. */
  readonly reason: 'overlap' | 'missed' | 'paused';
  /** The id of the unfinished job. */
  readonly id?: string;
}

const mostKept = 50;
const mostCounted = 10_000;

/** Adds an entry. Times skipped because of the same job or the same pause are one entry, even over many ticks. */
export function withSkipped(all: readonly Skipped[], one: Skipped): Skipped[] {
  const last = all.at(-1);
  const isSame = one.reason !== 'missed' && last?.reason === one.reason && last.id === one.id;
  if (!isSame) return [...all, one].slice(-mostKept);
  const count = Math.min(mostCounted, last.count + one.count);
  return [...all.slice(0, -1), { ...last, lastAt: one.lastAt, count }];
}

export function announceSkipped({ events }: App, schedule: Schedule, one: Skipped): void {
  const { at: dueAt, lastAt: lastDueAt, count, reason } = one;
  events.emit({ type: 'schedule.skipped', schedule: schedule.name, reason, dueAt, lastDueAt, count });
}

/** The due times after `after` and up to `until`; `null` = there are none. */
export async function skippedIn(
  schedule: Schedule,
  after: number,
  until: number,
  reason: 'missed' | 'paused',
): Promise<Skipped | null> {
  const at = await schedule.nextAfter(after);
  if (at === null || at > until) return null;
  let [lastAt, count] = [at, 1];
  if (schedule.everyMs !== null) {
    count += Math.floor((until - at) / schedule.everyMs);
    lastAt += (count - 1) * schedule.everyMs;
    return { at, lastAt, count: Math.min(mostCounted, count), reason };
  }
  for (let next = await schedule.nextAfter(at); next !== null && next <= until; count++) {
    lastAt = next;
    // Counting takes a quarter of a second at most; jobs run in between.
    if (count === mostCounted) return { at, lastAt: until, count, reason };
    if (count % 250 === 0) await new Promise(setImmediate);
    next = await schedule.nextAfter(next);
  }
  return { at, lastAt, count, reason };
}
