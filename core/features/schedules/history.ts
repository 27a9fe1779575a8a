/** The history of a schedule: the jobs that it enqueued, from their records, and the times that it skipped, from its cursor. */

import type { JobStatus } from '../../contract/outcome.ts';
import type { JobRecord } from '../../contract/store.ts';
import { momentOf } from '../../envelope/schedule-of.ts';
import type { Schedule } from '../../kernel/app/schedule.ts';
import { homeOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { readCursor, scheduleNamed } from './cursor.ts';
import type { Skipped } from './skip.ts';

export interface ScheduleRun {
  readonly kind: 'run';
  /** The id of the job. */
  readonly id: string;
  /** Epoch ms. */
  readonly dueAt: number;
  /** How long after `dueAt` the job was enqueued. */
  readonly lateMs: number;
  readonly status: JobStatus;
  readonly attempts: number;
  /** The duration of the last ended attempt; `null` = none has ended. */
  readonly durationMs: number | null;
  /** More than twice the median of the completed runs listed here, if there are at least five. */
  readonly slow: boolean;
  readonly error: string | null;
}

export interface SkippedMoments {
  readonly kind: 'skipped';
  /** The first and the last skipped time. */
  readonly dueAt: number;
  readonly lastDueAt: number;
  /** At most 10,000. */
  readonly count: number;
  readonly reason: Skipped['reason'];
  /** The unfinished job that caused it. */
  readonly id: string | null;
}

export interface ScheduleHistory {
  readonly schedule: string;
  /** All times up to this one were enqueued or skipped; `null` = no tick has handled it, or one is handling it now. */
  readonly checkedAt: number | null;
  /** The next time after `checkedAt`; `null` = there is none, it is paused, or `checkedAt` is not known. */
  readonly nextAt: number | null;
  /** Paused since then; `null` = it is not, or `checkedAt` is not known. */
  readonly pausedAt: number | null;
  /** The last job that a tick has enqueued, even if its record was removed; `null` = none, or `checkedAt` is not known. */
  readonly lastId: string | null;
  /** Newest first. Jobs are listed as long as their records are kept. */
  readonly entries: readonly (ScheduleRun | SkippedMoments)[];
}

/** A schedule in code, as it is now. */
export interface ScheduleInCode extends Pick<Schedule, 'name' | 'timing' | 'overlap' | 'missed'> {
  readonly job: string;
  /** `null` = never again, or it is paused. */
  readonly nextAt: number | null;
  /** `null` = no records are kept, so it cannot be paused either. */
  readonly history: ScheduleHistory | null;
}

export async function scheduleInCode(client: Client, schedule: Schedule): Promise<ScheduleInCode> {
  const { name, timing, overlap, missed, job } = schedule;
  const home = homeOf(client, job) ?? client;
  const history = home.stores.records.recordsDisabled ? null : await scheduleHistory(client, name);
  const isPaused = history !== null && history.pausedAt !== null;
  const nextAt = isPaused ? null : await schedule.nextAfter(client.app.clock.now());
  return { name, timing, overlap, missed, job: job.name, nextAt, history };
}

/** Throws `OPTION` for a schedule that the app does not have. @param max of `entries` */
export async function scheduleHistory(
  client: Client,
  name: string,
  { max = 50 }: { readonly max?: number } = {},
): Promise<ScheduleHistory> {
  const schedule = scheduleNamed(client.app, name);
  return historyOf(client, schedule, { max });
}

/** @param options pausedSince: for a schedule created at run time, from its row; otherwise the cursor has it */
export async function historyOf(
  client: Client,
  schedule: Pick<Schedule, 'name' | 'job' | 'nextAfter'>,
  { max, pausedSince }: { readonly max: number; readonly pausedSince?: number | null },
): Promise<ScheduleHistory> {
  const { name } = schedule;
  const home = homeOf(client, schedule.job) ?? client;
  const found = await readCursor(home, name);
  const cursor = typeof found === 'string' ? null : found;
  const { records } = await home.stores.records.page({ schedule: name, max });
  const skipped = (cursor?.skipped ?? []).map(skippedMoments);
  const entries = [...runsOf(records), ...skipped].sort((a, b) => lastOf(b) - lastOf(a)).slice(0, max);
  const checkedAt = cursor?.at ?? null;
  const pausedAt = pausedSince === undefined ? (cursor?.pausedAt ?? null) : pausedSince;
  const nextAt = pausedAt === null ? await nextOf(schedule, checkedAt) : null;
  return { schedule: name, checkedAt, nextAt, pausedAt, lastId: cursor?.lastId ?? null, entries };
}

const nextOf = async (schedule: Pick<Schedule, 'nextAfter'>, after: number | null): Promise<number | null> =>
  after === null ? null : schedule.nextAfter(after);

const lastOf = (one: ScheduleRun | SkippedMoments): number =>
  one.kind === 'run' ? one.dueAt : one.lastDueAt;

const skippedMoments = ({ at, lastAt, count, reason, id }: Skipped): SkippedMoments => ({
  kind: 'skipped',
  dueAt: at,
  lastDueAt: lastAt,
  count,
  reason,
  id: id ?? null,
});

/** A smaller difference is normal on a busy machine. */
const leastSlowMs = 100;
const leastCompared = 5;

function runsOf(records: readonly JobRecord[]): ScheduleRun[] {
  const completed = records.filter(({ status }) => status === 'completed').map(durationOf);
  const sorted = completed.filter((ms) => ms !== null).sort((a, b) => a - b);
  const median = sorted.length < leastCompared ? Infinity : sorted[Math.floor(sorted.length / 2)]!;
  return records.map((record) => {
    const { id, status, attempts, error, createdAt } = record;
    const dueAt = momentOf(record) ?? createdAt;
    const durationMs = durationOf(record);
    const slow = durationMs !== null && durationMs >= leastSlowMs && durationMs > 2 * median;
    const lateMs = Math.max(0, createdAt - dueAt);
    return { kind: 'run', id, dueAt, lateMs, status, attempts: attempts.length, durationMs, slow, error };
  });
}

function durationOf({ attempts }: JobRecord): number | null {
  const last = attempts.at(-1);
  return last ? last.endedAt - last.startedAt : null;
}
