/** A paused schedule enqueues nothing; what fell due in the pause is left out for good, and listed as such. */

import { describe, expect, it } from 'vitest';
import { cursorKey, readCursor } from '../../../core/features/schedules/cursor.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { scheduleHistory } from '../../../core/features/schedules/history.ts';
import { pauseSchedule, resumeSchedule } from '../../../core/features/schedules/pause.ts';
import { defineSchedule, type ScheduleDefinition } from '../../../core/kernel/app/schedule.ts';
import { bench, job, startMs } from './kit.ts';

const minuteMs = 60_000;
const work = job();
const at = (minutes: number): number => startMs + minutes * minuteMs;

/** A bench with a schedule of every minute. */
function scheduled(parts: Partial<ScheduleDefinition<unknown>> = {}) {
  const timing = parts.cron === undefined ? { everyMs: minuteMs } : {};
  const schedule = defineSchedule({ name: 'report', ...timing, job: work, payload: {}, ...parts });
  const b = bench({ jobs: [work], schedules: [schedule] });
  return {
    ...b,
    /** Ticks at this minute after the start; gives the moments of the jobs that were enqueued. */
    async tickAt(minutes: number): Promise<number[]> {
      b.clock.advance(at(minutes) - b.clock.now());
      await tick(b.app, b.client);
      return b.events
        .splice(0)
        .filter((event) => event.type === 'schedule.enqueued')
        .map(({ dueAt }) => (dueAt - startMs) / minuteMs);
    },
    pause: () => pauseSchedule(b.client, 'report'),
    resume: () => resumeSchedule(b.client, 'report'),
    isPaused: async () => (await scheduleHistory(b.client, 'report')).pausedAt !== null,
    history: () => scheduleHistory(b.client, 'report'),
    async kept() {
      const cursor = await readCursor(b.client, 'report');
      return typeof cursor === 'string' ? cursor : (cursor.skipped ?? []);
    },
  };
}

describe('a paused schedule', () => {
  for (const missed of ['one', 'all', 'skip'] as const) {
    it(`makes up for nothing of the pause (missed: '${missed}')`, async () => {
      const b = scheduled({ missed });
      await b.tickAt(0);
      expect(await b.tickAt(1)).toEqual([1]);
      expect(await b.pause()).toBe(true);
      for (const minutes of [2, 3, 8]) expect(await b.tickAt(minutes)).toEqual([]);
      expect(await b.resume()).toBe(true);
      expect(await b.tickAt(8.5)).toEqual([]);
      expect(await b.tickAt(9)).toEqual([9]);
      expect(await b.kept()).toEqual([{ at: at(2), lastAt: at(8), count: 7, reason: 'paused' }]);
    });

    it(`makes up for nothing when nothing ticked during the pause (missed: '${missed}')`, async () => {
      const b = scheduled({ missed });
      await b.tickAt(0);
      await b.pause();
      b.clock.advance(5.5 * minuteMs);
      await b.resume();
      expect(await b.tickAt(5.9)).toEqual([]);
      expect(await b.tickAt(6)).toEqual([6]);
      expect(await b.kept()).toEqual([{ at: at(1), lastAt: at(5), count: 5, reason: 'paused' }]);
    });
  }

  it('leaves out what was owed when it was paused: from then on nothing runs', async () => {
    const b = scheduled({ missed: 'all' });
    await b.tickAt(0);
    b.clock.advance(3 * minuteMs);
    await b.pause();
    expect(await b.tickAt(4)).toEqual([]);
    await b.resume();
    expect(await b.tickAt(5)).toEqual([5]);
  });

  it('may be one that nothing has ticked yet', async () => {
    const b = scheduled();
    expect(await b.isPaused()).toBe(false);
    expect(await b.pause()).toBe(true);
    expect(await b.tickAt(3)).toEqual([]);
    expect(await b.isPaused()).toBe(true);
  });

  it('is paused once, and resumed once', async () => {
    const b = scheduled();
    expect(await b.resume()).toBe(false);
    expect(await readCursor(b.client, 'report')).toBe('never');
    await b.tickAt(0);
    expect(await b.pause()).toBe(true);
    b.clock.advance(minuteMs);
    expect(await b.pause()).toBe(false);
    expect((await b.history()).pausedAt).toBe(at(0));
    expect(await b.resume()).toBe(true);
    expect(await b.resume()).toBe(false);
    expect(await b.isPaused()).toBe(false);
  });

  it('is told by its history, and comes next at no moment', async () => {
    const b = scheduled();
    await b.tickAt(0);
    expect(await b.history()).toMatchObject({ pausedAt: null, nextAt: at(1) });
    await b.pause();
    await b.tickAt(2);
    expect(await b.history()).toEqual({
      schedule: 'report',
      checkedAt: at(2),
      lastId: null,
      nextAt: null,
      pausedAt: at(0),
      entries: [{ kind: 'skipped', reason: 'paused', dueAt: at(1), lastDueAt: at(2), count: 2, id: null }],
    });
    await b.resume();
    expect(await b.history()).toMatchObject({ pausedAt: null, nextAt: at(3) });
  });

  it('says what it leaves out, is checked and never late', async () => {
    const b = scheduled();
    await b.tickAt(0);
    await b.pause();
    b.clock.advance(10 * minuteMs);
    await tick(b.app, b.client);
    expect(b.events.splice(0).filter(({ type }) => type.startsWith('schedule.'))).toEqual([
      {
        type: 'schedule.skipped',
        schedule: 'report',
        reason: 'paused',
        dueAt: at(1),
        lastDueAt: at(10),
        count: 10,
      },
      { type: 'schedule.checked', schedule: 'report', at: at(10) },
    ]);
    b.clock.advance(2 * minuteMs);
    await b.resume();
    expect(b.events.splice(0)).toEqual([
      {
        type: 'schedule.skipped',
        schedule: 'report',
        reason: 'paused',
        dueAt: at(11),
        lastDueAt: at(12),
        count: 2,
      },
    ]);
    expect(await b.kept()).toEqual([{ at: at(1), lastAt: at(12), count: 12, reason: 'paused' }]);
  });

  it('counts the moments of a pattern too', async () => {
    const b = scheduled({ cron: '*/10 * * * *' });
    await b.tickAt(0);
    await b.pause();
    expect(await b.tickAt(35)).toEqual([]);
    expect(await b.kept()).toMatchObject([{ count: 3, reason: 'paused' }]);
  });

  it('still knows its unfinished job when it goes on', async () => {
    const b = scheduled({ overlap: 'skip' });
    await b.tickAt(0);
    expect(await b.tickAt(1)).toEqual([1]);
    await b.pause();
    await b.tickAt(2);
    await b.resume();
    expect(await b.tickAt(3)).toEqual([]);
    expect(await b.kept()).toMatchObject([
      { reason: 'paused', count: 1 },
      { reason: 'overlap', count: 1 },
    ]);
  });

  it('pauses no other one', async () => {
    const times = { everyMs: minuteMs, job: work, payload: {} };
    const schedules = ['a', 'b'].map((name) => defineSchedule({ name, ...times }));
    const b = bench({ jobs: [work], schedules });
    await tick(b.app, b.client);
    await pauseSchedule(b.client, 'a');
    b.clock.advance(minuteMs);
    expect(await tick(b.app, b.client)).toHaveLength(1);
  });
});

describe('pausing', () => {
  it('waits for a tick under way, and keeps what that has done', async () => {
    const b = scheduled();
    await b.tickAt(0);
    const { keys } = b.client.stores;
    const key = cursorKey('report');
    await keys.claim(key, 'another host', b.clock.now() + 15_000);
    const pausing = b.pause();
    const value = JSON.stringify({ at: at(7), lastId: 'job-7' });
    await keys.release(key, 'another host', { value, keepUntil: b.clock.now() + 1_000_000 });
    expect(await pausing).toBe(true);
    expect(await readCursor(b.client, 'report')).toEqual({ at: at(7), lastId: 'job-7', pausedAt: at(0) });
  });

  it('by two at once is done by one of them', async () => {
    const b = scheduled();
    await b.tickAt(0);
    const done = await Promise.all([b.pause(), b.pause(), b.pause()]);
    expect(done.filter(Boolean)).toHaveLength(1);
    expect(await b.isPaused()).toBe(true);
  });

  it('is refused for a schedule that the app does not have', async () => {
    const b = scheduled();
    for (const verb of [pauseSchedule, resumeSchedule, scheduleHistory])
      await expect(verb(b.client, 'reprt')).rejects.toMatchObject({
        code: 'OPTION',
        message: 'Expected the name of a schedule, got "reprt".',
      });
  });

  it('is refused where no other host would hear of it', async () => {
    const b = scheduled();
    const { stores } = b.client;
    const alone = {
      ...b.client,
      stores: { ...stores, records: { ...stores.records, recordsDisabled: true } },
    } as const;
    await expect(pauseSchedule(alone, 'report')).rejects.toThrow(
      'has no store that all hosts share. Give it a store.',
    );
  });

  it('changes nothing when the time of the queue cannot be read', async () => {
    const b = scheduled();
    await b.tickAt(0);
    const before = await readCursor(b.client, 'report');
    const backend = { ...b.client.backend, now: () => Promise.reject(new Error('away')) };
    await expect(pauseSchedule({ ...b.client, backend }, 'report')).rejects.toThrow('away');
    expect(await readCursor(b.client, 'report')).toEqual(before);
  });
});
