/** Finds late schedules among those created at run time. The cost depends on how many are due, not on how many exist. */

import { backendError } from '../../../base/failure.ts';
import type { ScheduleStore, StoredSchedule } from '../../../contract/derived/schedules.ts';
import type { App } from '../../../kernel/app/app.ts';
import type { LateStored, LateStoredSchedules } from '../../../kernel/app/stored-schedule.ts';
import { definitionOf } from './text.ts';
import { againMs } from './tick.ts';

const mostLooked = 500;

/** Schedules that have been due for longer than `mostLateMs`. */
export async function lateStored(
  app: Pick<App, 'keyRing' | 'clock'>,
  store: ScheduleStore,
  now: number,
  mostLateMs: number,
): Promise<LateStoredSchedules> {
  // A failing schedule is due again within that time.
  const rows = await store.due(now + againMs, mostLooked);
  const late = rows
    .map((row) => latenessOf(app, row, now))
    .filter(({ lateMs }) => lateMs > mostLateMs)
    .sort((a, b) => b.lateMs - a.lateMs);
  return { late, more: rows.length === mostLooked };
}

function latenessOf(app: Pick<App, 'keyRing' | 'clock'>, row: StoredSchedule, now: number): LateStored {
  const { name: schedule, nextAt } = row;
  const lateMs = now - (nextAt ?? now);
  try {
    const { failure } = definitionOf(app, row);
    if (!failure) return { schedule, lateMs, why: null };
    return { schedule, lateMs: now - (failure.since ?? failure.at), why: failure.code };
  } catch (error) {
    // No tick updates a row that it refuses. Without keys the reason is unknown.
    const { code } = backendError('reading a schedule', error);
    return { schedule, lateMs, why: code === 'CONFIG' ? null : code };
  }
}
