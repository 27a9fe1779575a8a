/** The history of a schedule: its jobs with outcome and duration, and between them the moments that it left out. */

import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { scheduleHistory } from '../../../core/features/schedules/history.ts';
import { defineSchedule, type ScheduleDefinition } from '../../../core/kernel/app/schedule.ts';
import { bench, job, refusalText, startMs } from './kit.ts';

const minuteMs = 60_000;
const at = (minutes: number): number => startMs + minutes * minuteMs;

/** A schedule of every minute whose job takes what `takes` says next; negative: and fails then. */
async function seen(takes: readonly number[] = [], parts: Partial<ScheduleDefinition<unknown>> = {}) {
  const left = [...takes];
  const work = job({
    maxRetries: 0,
    handle: () => {
      const ms = left.shift() ?? 10;
      b.clock.advance(Math.abs(ms));
      if (ms < 0) throw new PermanentError('no paper');
    },
  });
  const own = { everyMs: minuteMs, job: work, payload: {} };
  const b = bench({
    jobs: [work],
    schedules: [
      defineSchedule({ name: 'report', ...own, ...parts }),
      defineSchedule({ name: 'other', ...own, everyMs: 3 * minuteMs }),
    ],
  });
  await tick(b.app, b.client);
  return {
    ...b,
    work,
    history: (max?: number) => scheduleHistory(b.client, 'report', max === undefined ? {} : { max }),
    /** Ticks at this minute after the start, and runs what that has enqueued. */
    async minute(minutes: number) {
      b.clock.advance(at(minutes) - b.clock.now());
      await tick(b.app, b.client);
      for (;;) {
        const run = await b.take().catch(() => null);
        if (!run) return;
        await b.run(run);
      }
    },
  };
}

describe('the history of a schedule', () => {
  it('has each run with its moment, outcome and duration, newest first, and none of other schedules', async () => {
    const b = await seen([10, -20]);
    await b.minute(1);
    await b.minute(2);
    await b.client.enqueue(b.work, {}, { name: 'report' });
    const { schedule, checkedAt, nextAt, entries } = await b.history();
    expect([schedule, checkedAt, nextAt]).toEqual(['report', at(2), at(3)]);
    const run = { kind: 'run', lateMs: 0, attempts: 1, slow: false };
    expect(entries).toEqual([
      {
        ...run,
        id: expect.any(String),
        dueAt: at(2),
        status: 'failed',
        durationMs: 20,
        error: 'HANDLER: no paper',
      },
      { ...run, id: expect.any(String), dueAt: at(1), status: 'completed', durationMs: 10, error: null },
    ]);
  });

  it('has the moments that were left out between them', async () => {
    const b = await seen();
    await b.minute(1);
    await b.minute(10);
    expect((await b.history()).entries).toMatchObject([
      { kind: 'run', dueAt: at(10) },
      { kind: 'skipped', reason: 'missed', dueAt: at(2), lastDueAt: at(9), count: 8, id: null },
      { kind: 'run', dueAt: at(1) },
    ]);
  });

  it('says which job was in the way', async () => {
    const b = await seen([], { overlap: 'skip' });
    b.clock.advance(minuteMs);
    const [id] = await tick(b.app, b.client);
    b.clock.advance(minuteMs);
    await tick(b.app, b.client);
    expect((await b.history()).entries).toMatchObject([
      { kind: 'skipped', reason: 'overlap', dueAt: at(2), count: 1, id },
      { kind: 'run', id, status: 'pending', durationMs: null, attempts: 0 },
    ]);
  });

  it('says how late a run was enqueued', async () => {
    const b = await seen([], { missed: 'all' });
    await b.minute(3);
    const late = (await b.history()).entries.map((one) => (one.kind === 'run' ? one.lateMs : null));
    expect(late).toEqual([0, minuteMs, 2 * minuteMs]);
  });

  it('calls a run slow that took more than twice the median of five or more', async () => {
    const b = await seen([200, 220, 1_000, 210, 190]);
    for (let i = 1; i <= 4; i++) await b.minute(i);
    const slow = async () => {
      const runs = (await b.history()).entries.flatMap((one) =>
        one.kind === 'run' && one.slow ? [one] : [],
      );
      return runs.map(({ dueAt }) => (dueAt - startMs) / minuteMs);
    };
    expect(await slow()).toEqual([]);
    await b.minute(5);
    expect(await slow()).toEqual([3]);
  });

  it('has the newest, at most so many', async () => {
    const b = await seen();
    for (let i = 1; i <= 6; i++) await b.minute(i * 3);
    const { entries } = await b.history(3);
    expect(entries.map(({ kind, dueAt }) => [kind, (dueAt - startMs) / minuteMs])).toEqual([
      ['run', 18],
      ['skipped', 16],
      ['run', 15],
    ]);
  });

  it('is empty before the first tick, and refused for a schedule that is not there', async () => {
    const work = job();
    const report = defineSchedule({ name: 'report', everyMs: minuteMs, job: work, payload: {} });
    const b = bench({ jobs: [work], schedules: [report] });
    expect(await scheduleHistory(b.client, 'report')).toEqual({
      schedule: 'report',
      checkedAt: null,
      lastId: null,
      nextAt: null,
      pausedAt: null,
      entries: [],
    });
    expect(await refusalText(() => scheduleHistory(b.client, 'repotr'))).toBe(
      'OPTION: Expected the name of a schedule, got "repotr".',
    );
  });
});
