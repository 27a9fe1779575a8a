/** Moments without a job leave an event and an entry in the schedule's cursor: few, whatever was missed. */

import { describe, expect, it } from 'vitest';
import { readCursor } from '../../../core/features/schedules/cursor.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import type { Skipped } from '../../../core/features/schedules/skip.ts';
import { defineSchedule, type ScheduleDefinition } from '../../../core/kernel/app/schedule.ts';
import { bench, job, startMs } from './kit.ts';

const minuteMs = 60_000;
const work = job();

/** A bench whose schedule was seen at `startMs`. */
async function seen(parts: Partial<ScheduleDefinition<unknown>> = {}) {
  const timing = parts.cron === undefined ? { everyMs: minuteMs } : {};
  const schedule = defineSchedule({ name: 'report', ...timing, job: work, payload: {}, ...parts });
  const b = bench({ jobs: [work], schedules: [schedule] });
  await tick(b.app, b.client);
  return {
    ...b,
    schedule,
    tick: () => tick(b.app, b.client),
    told: () =>
      b.events.splice(0).filter(({ type }) => type === 'schedule.skipped' || type === 'schedule.late'),
    async kept() {
      const cursor = await readCursor(b.client, 'report');
      return typeof cursor === 'string' ? cursor : (cursor.skipped ?? []);
    },
  };
}
const at = (minutes: number): number => startMs + minutes * minuteMs;

describe('a tick in time', () => {
  it('leaves nothing out and says nothing', async () => {
    const b = await seen();
    for (let i = 0; i < 5; i++) {
      b.clock.advance(minuteMs);
      await b.tick();
    }
    expect(b.told()).toEqual([]);
    expect(await b.kept()).toEqual([]);
  });
});

describe('a moment that overlaps', () => {
  it('is an event and an entry; those that one job is in the way of are one entry', async () => {
    const b = await seen({ overlap: 'skip' });
    b.clock.advance(minuteMs);
    const [id] = await b.tick();
    for (let i = 0; i < 200; i++) {
      b.clock.advance(minuteMs);
      await b.tick();
    }
    const told = b.told();
    expect(told).toHaveLength(200);
    expect(told[0]).toEqual({
      type: 'schedule.skipped',
      schedule: 'report',
      reason: 'overlap',
      dueAt: at(2),
      lastDueAt: at(2),
      count: 1,
    });
    expect(await b.kept()).toEqual([{ at: at(2), lastAt: at(201), count: 200, reason: 'overlap', id }]);
  });

  it('begins another entry behind another job', async () => {
    const b = await seen({ overlap: 'skip' });
    for (let i = 0; i < 3; i++) {
      b.clock.advance(minuteMs);
      await b.tick();
      b.clock.advance(minuteMs);
      await b.tick();
      await b.next();
    }
    expect(await b.kept()).toHaveLength(3);
  });

  it('of one tick is one event, however many there are', async () => {
    const b = await seen({ overlap: 'skip', missed: 'all' });
    b.clock.advance(600 * minuteMs);
    expect(await b.tick()).toHaveLength(1);
    expect(b.told()).toMatchObject([
      { type: 'schedule.late', dueAt: at(1), lateMs: 599 * minuteMs },
      { type: 'schedule.skipped', reason: 'overlap', dueAt: at(2), lastDueAt: at(600), count: 599 },
    ]);
  });
});

describe('moments that nothing ticked', () => {
  it.each<[Partial<ScheduleDefinition<unknown>>, number, [first: number, last: number, count: number]]>([
    [{ missed: 'one' }, 10, [1, 9, 9]],
    [{ missed: 'skip' }, 10, [1, 8, 8]], // 90 seconds are forgiven
    [{ missed: 'one', cron: '* * * * *' }, 10, [1, 9, 9]],
    [{ missed: 'skip', cron: '*/5 * * * *' }, 12, [5, 10, 2]],
  ])('are one event and one entry: %o', async (parts, minutes, [first, last, count]) => {
    const b = await seen(parts);
    b.clock.advance(minutes * minuteMs);
    await b.tick();
    const skipped = { reason: 'missed', dueAt: at(first), lastDueAt: at(last), count };
    expect(b.told()).toEqual([
      { type: 'schedule.late', schedule: 'report', dueAt: at(first), lateMs: (minutes - first) * minuteMs },
      { type: 'schedule.skipped', schedule: 'report', ...skipped },
    ]);
    expect(await b.kept()).toEqual([{ at: at(first), lastAt: at(last), count, reason: 'missed' }]);
  });

  it('are late and not skipped where all of them run', async () => {
    const b = await seen({ missed: 'all' });
    b.clock.advance(10 * minuteMs);
    expect(await b.tick()).toHaveLength(10);
    expect(b.told()).toMatchObject([{ type: 'schedule.late', lateMs: 9 * minuteMs }]);
    expect(await b.kept()).toEqual([]);
  });

  it('of a rare schedule that is in time are none, after however long a pause', async () => {
    const b = await seen({ everyMs: 60 * minuteMs });
    b.clock.advance(60 * minuteMs);
    expect(await b.tick()).toHaveLength(1);
    expect(b.told()).toEqual([]);
  });

  it.each([
    ['everyMs', { everyMs: 1_000 }],
    ['cron', { cron: '* * * * * *' }],
  ])('are counted up to 10,000 by %s, in one entry', async (_, parts) => {
    const b = await seen(parts);
    b.clock.advance(10_001_000);
    await b.tick();
    expect(b.told()).toMatchObject([{ type: 'schedule.late' }, { reason: 'missed', count: 10_000 }]);
    expect(await b.kept()).toHaveLength(1);
  });

  it('are kept fifty entries long, and no longer', async () => {
    const b = await seen();
    for (let i = 0; i < 60; i++) {
      b.clock.advance(10 * minuteMs);
      await b.tick();
    }
    const kept = (await b.kept()) as readonly Skipped[];
    expect(kept).toHaveLength(50);
    expect(kept.at(-1)!.at).toBe(at(591));
    expect(JSON.stringify(kept).length).toBeLessThan(8_000);
  });

  it('are said once, also when the job of their tick cannot be enqueued', async () => {
    const b = await seen();
    let down = true;
    const shaky = {
      ...b.client,
      enqueue: (...call: Parameters<typeof b.client.enqueue>) =>
        down ? Promise.reject(new Error('connection refused')) : b.client.enqueue(...call),
    } as typeof b.client;
    b.clock.advance(10 * minuteMs);
    await tick(b.app, shaky);
    expect(b.told()).toMatchObject([{ type: 'schedule.late' }, { reason: 'missed', count: 9 }]);
    down = false;
    expect(await tick(b.app, shaky)).toHaveLength(1);
    expect(b.told()).toEqual([]);
  });
});

describe('a cursor', () => {
  it('of the version before is read, and goes on', async () => {
    const b = await seen({ missed: 'all' });
    const { keys } = b.client.stores;
    await keys.claim('schedule:report', 'x', b.clock.now() + 1_000);
    await keys.release('schedule:report', 'x', {
      value: JSON.stringify({ at: startMs, lastId: null }),
      keepUntil: b.clock.now() + 1e9,
    });
    b.clock.advance(2 * minuteMs);
    expect(await b.tick()).toHaveLength(2);
  });

  it('that is being read makes a tick wait for the reader, and no moment late', async () => {
    const b = await seen();
    b.clock.advance(minuteMs);
    const { keys } = b.client.stores;
    const held = await keys.claim('schedule:report', 'a reader', b.clock.now() + 2_000);
    const ticking = b.tick();
    await new Promise(setImmediate);
    const { value } = held as { value: string };
    await keys.release('schedule:report', 'a reader', { value, keepUntil: b.clock.now() + 1e9 });
    expect(await ticking).toHaveLength(1);
  });

  it('is there to read while others tick, and reading moves nothing', async () => {
    const b = await seen({ missed: 'all' });
    for (let i = 0; i < 20; i++) {
      b.clock.advance(minuteMs);
      const [ids] = await Promise.all([b.tick(), readCursor(b.client, 'report')]);
      const rest = await b.tick();
      expect(ids.length + rest.length).toBe(1);
    }
    expect(await readCursor(b.client, 'report')).toMatchObject({ at: at(20) });
  });

  it('that was never written is none', async () => {
    const b = bench({ jobs: [work] });
    expect(await readCursor(b.client, 'nothing')).toBe('never');
    expect(await readCursor(b.client, 'nothing')).toBe('never');
  });
});
