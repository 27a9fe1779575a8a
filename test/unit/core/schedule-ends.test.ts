/** Schedules made at run time that end: at a time, or after a number of runs. */

import { describe, expect, it } from 'vitest';
import { tick } from '../../../core/features/schedules/feature.ts';
import { bench, job, refusalText, startMs } from './kit.ts';

const minuteMs = 60_000;
const work = job();
const every = (parts: object = {}) => ({ name: 'a', everyMs: minuteMs, job: work, payload: {}, ...parts });

function started() {
  const b = bench({ jobs: [work] });
  return { ...b, schedules: b.client.schedules, tick: () => tick(b.app, b.client) };
}

describe('the end of a schedule', () => {
  it('comes after `limit` runs, also if a tick catches up on many, and can be moved', async () => {
    const t = started();
    await t.schedules.upsert(every({ limit: 2, missed: 'all' }));
    t.clock.advance(5 * minuteMs);
    expect(await t.tick()).toHaveLength(2);
    expect(await t.schedules.get('a')).toMatchObject({ nextAt: null, limit: 2 });
    t.clock.advance(5 * minuteMs);
    expect(await t.tick()).toEqual([]);
    await t.schedules.upsert(every({ limit: 3, missed: 'all' }));
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    await t.schedules.upsert(every({ everyMs: 2 * minuteMs, limit: 1 })); // with another timing they are counted anew
    t.clock.advance(2 * minuteMs);
    expect(await t.tick()).toHaveLength(1);
    expect(await t.schedules.get('a')).toMatchObject({ nextAt: null });
  });

  it('does not count runs that are skipped, made by hand, or repeated by a tick whose host died', async () => {
    const t = started();
    await t.schedules.upsert(every({ limit: 2, overlap: 'skip' }));
    await t.schedules.runNow('a');
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toEqual([]); // the job of the run before waits
    const [, lease] = await t.backend.fetch({ queues: ['default'], max: 2, leaseMs: minuteMs, waitMs: 0 });
    await t.backend.ack([{ lease: lease! }]);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    expect(await t.schedules.get('a')).toMatchObject({ nextAt: null });
  });

  it('is the time `until`, which is shown and signed', async () => {
    const t = started();
    const until = new Date(startMs + 2 * minuteMs);
    const made = await t.schedules.upsert(every({ until }));
    expect(made).toMatchObject({
      timing: `every 60000 ms until ${until.toISOString()}`,
      until: until.getTime(),
      limit: null,
    });
    const ids: string[] = [];
    for (let minute = 0; minute < 5; minute++) {
      t.clock.advance(minuteMs);
      ids.push(...(await t.tick()));
    }
    expect(ids).toHaveLength(2);
    expect(await t.schedules.get('a')).toMatchObject({ nextAt: null });
    await t.schedules.upsert(every());
    expect((await t.schedules.get('a'))!.nextAt).toBe(t.clock.now() + minuteMs);
  });

  it.each<[what: string, parts: object, error: RegExp]>([
    ['an until that is no Date', { until: 5 }, /^OPTION: .*until of schedule "a" to be a Date, got 5/],
    ['an invalid Date', { until: new Date(Number.NaN) }, /^OPTION: .*until/],
    ['a limit of 0', { limit: 0 }, /^OPTION: .*limit of schedule "a"/],
  ])('refuses %s', async (_, parts, error) => {
    const t = started();
    expect(await refusalText(() => t.schedules.upsert(every(parts)))).toMatch(error);
  });
});
