/** One schedule created at run time, for people. */

import type { StoredScheduleInfo } from '../../../kernel/app/stored-schedule.ts';
import { keepsSchedules } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { historyOf, type ScheduleHistory } from '../history.ts';
import { scheduleOf } from './text.ts';

export interface StoredScheduleDetail {
  readonly info: StoredScheduleInfo;
  /** `null` = this app does not have its job. */
  readonly history: ScheduleHistory | null;
  /** Its next due times, at most `mostNext`; none if it is paused. */
  readonly next: readonly number[];
}

/** `null` = no schedule of this name was created at run time. */
export async function showStored(
  client: Client,
  name: string,
  { max = 50, mostNext = 10 }: { readonly max?: number; readonly mostNext?: number } = {},
): Promise<StoredScheduleDetail | null> {
  const info = keepsSchedules(client) ? await client.schedules.get(name) : null;
  if (!info) return null;
  const job = client.app.jobs.get(info.job);
  if (!job) return { info, history: null, next: [] };
  const { cron, everyMs, timezone, until, pausedAt } = info;
  const end = until !== null && { until };
  const timing = { timezone, ...end, ...(cron !== null && { cron }), ...(everyMs !== null && { everyMs }) };
  const schedule = scheduleOf(name, timing, job);
  const found = await historyOf(client, schedule, { max, pausedSince: pausedAt });
  // The row has the due time: the cursor may belong to a removed schedule of the same name.
  const history = { ...found, nextAt: info.nextAt };
  const next: number[] = [];
  let at = info.nextAt === null ? null : await schedule.nextAfter(client.app.clock.now());
  for (; at !== null && next.length < mostNext; at = await schedule.nextAfter(at)) next.push(at);
  return { info, history, next };
}
