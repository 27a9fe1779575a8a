/** Which of the schedules made at run time are late. What it asks costs what is due, however many there are. */

import type { LateStored, LateStoredSchedules } from '../../app/stored-schedule.ts';
import type { ScheduleStore, StoredSchedule } from '../../contract/schedules.ts';
import { definitionOf } from './text.ts';
import { againMs } from './tick.ts';

const mostLooked = 500;

/** Those that have been due for longer than `mostLateMs`. */
export async function lateStored(
  store: ScheduleStore,
  now: number,
  mostLateMs: number,
): Promise<LateStoredSchedules> {
  // One that fails is due again within that time.
  const rows = await store.due(now + againMs, mostLooked);
  const late = rows
    .map((row) => latenessOf(row, now))
    .filter(({ lateMs }) => lateMs > mostLateMs)
    .sort((a, b) => b.lateMs - a.lateMs);
  return { late, more: rows.length === mostLooked };
}

function latenessOf(row: StoredSchedule, now: number): LateStored {
  const { name: schedule, nextAt } = row;
  const lateMs = now - (nextAt ?? now);
  try {
    const { failure } = definitionOf(row);
    if (!failure) return { schedule, lateMs, why: null };
    return { schedule, lateMs: now - (failure.since ?? failure.at), why: failure.code };
  } catch {
    // No tick can say since when it cannot be read: its row is as it was written.
    return { schedule, lateMs: Math.max(0, lateMs), why: 'CORRUPT' };
  }
}
