/** When a schedule is due: patterns, time zones, both changes of daylight saving, fixed intervals. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineSchedule, type ScheduleDefinition } from '../../../core/kernel/app/schedule.ts';
import { job, refusal, refusalText } from './kit.ts';

const work = job();
const schedule = (parts: Partial<ScheduleDefinition<unknown>>) =>
  defineSchedule({ name: 'nightly', job: work, payload: {}, ...parts });

/** The next `count` moments after `from`, as UTC. */
async function moments(
  parts: Partial<ScheduleDefinition<unknown>>,
  from: string,
  count: number,
): Promise<string[]> {
  const { nextAfter } = schedule(parts);
  const found: string[] = [];
  let at = await nextAfter(Date.parse(from));
  while (at !== null && found.length < count) {
    found.push(new Date(at).toISOString().slice(0, 16));
    at = await nextAfter(at);
  }
  return found;
}

describe('a cron pattern', () => {
  it('is UTC by default', async () => {
    expect(await moments({ cron: '0 2 * * *' }, '2026-07-01T02:00:00Z', 2)).toEqual([
      '2026-07-02T02:00',
      '2026-07-03T02:00',
    ]);
  });

  it('may have seconds first', async () => {
    const { nextAfter } = schedule({ cron: '*/20 * * * * *' });
    const from = Date.parse('2026-07-01T00:00:19.999Z');
    expect([await nextAfter(from), await nextAfter(from + 1)]).toEqual([from + 1, from + 20_001]);
  });

  it('follows its time zone through the year', async () => {
    const cron = { cron: '0 8 1 * *', timezone: 'Europe/Berlin' };
    expect(await moments(cron, '2026-01-15T00:00:00Z', 3)).toEqual([
      '2026-02-01T07:00',
      '2026-03-01T07:00',
      '2026-04-01T06:00',
    ]);
  });

  it('comes once in the night when the clock goes forward, after the hour that does not exist', async () => {
    const cron = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
    expect(await moments(cron, '2026-03-27T12:00:00Z', 4)).toEqual([
      '2026-03-28T01:30',
      '2026-03-29T01:00',
      '2026-03-30T00:30',
      '2026-03-31T00:30',
    ]);
  });

  it('comes once in the night when the clock goes back, in the first of the two hours', async () => {
    const cron = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
    expect(await moments(cron, '2026-10-23T12:00:00Z', 4)).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
      '2026-10-27T01:30',
    ]);
  });

  it.each([
    ['forward', '2026-03-28T22:00:00Z'],
    ['back', '2026-10-24T22:00:00Z'],
  ])('of every half hour leaves none out and doubles none when the clock goes %s', async (_, from) => {
    const { nextAfter } = schedule({ cron: '*/30 * * * *', timezone: 'Europe/Berlin' });
    const halfHourMs = 1_800_000;
    let at = Date.parse(from);
    for (let i = 0; i < 12; i++, at += halfHourMs) expect(await nextAfter(at)).toBe(at + halfHourMs);
  });

  it.each([
    ['a list of minutes', '0,30 2 * * *', ['00:00', '00:30', '01:00', '01:30'], []],
    ['a range of hours', '0 1-3 * * *', ['23:00', '00:00', '01:00', '02:00'], ['00:00', '01:00']],
    ['a step of hours', '0 */2 * * *', ['22:00', '00:00', '01:00', '03:00'], ['23:00', '02:00']],
  ])(
    'with %s comes in both hours when the clock goes back, and leaves out what does not exist',
    async (_, cron, back, forward) => {
      const parts = { cron, timezone: 'Europe/Berlin' };
      const times = (all: string[]) => all.map((at) => at.slice(11));
      expect(times(await moments(parts, '2026-10-24T21:30:00Z', 4))).toEqual(back);
      const until = '2026-03-29T03:00';
      const night = await moments(parts, '2026-03-28T22:30:00Z', 4);
      expect(times(night.filter((at) => at < until))).toEqual(forward);
    },
  );

  it('says for people when it runs', () => {
    expect(schedule({ cron: '0 2 * * *', timezone: 'Europe/Berlin' }).timing).toBe(
      '0 2 * * * (Europe/Berlin)',
    );
    expect(schedule({ everyMs: 5000 }).timing).toBe('every 5000 ms');
  });

  it.each(['', 'hourly', '* * * *', '0 0 1 1 * 1 2030 7'])('refuses %j at once', async (cron) => {
    expect(await refusalText(() => schedule({ cron }))).toBe(
      `CONFIG: Schedule "nightly" expects a cron pattern like "0 2 * * *" or with seconds, got ${JSON.stringify(cron)}.`,
    );
  });

  it.each(['', ' ', null as never])('refuses the time zone %j at once', async (timezone) => {
    expect(await refusalText(() => schedule({ cron: '0 2 * * *', timezone }))).toBe(
      `CONFIG: Schedule "nightly" expects an IANA time zone, got ${JSON.stringify(timezone)}. Leave it out for UTC.`,
    );
  });

  /** The refusal of the first question when it is due. */
  const refused = (parts: Partial<ScheduleDefinition<unknown>>) =>
    refusal(() => schedule(parts).nextAfter(Date.now()));

  it('that names a day which never comes is refused when it is asked', async () => {
    expect((await refused({ cron: '0 0 30 2 *' })).message).toMatch(/never comes due$/);
  });

  it('whose year is over comes due no more, and refuses nothing', async () => {
    const { nextAfter } = schedule({ cron: '0 0 9 1 6 * 2020' });
    const due = Date.UTC(2020, 5, 1, 9);
    expect([await nextAfter(due - 1), await nextAfter(due), await nextAfter(Date.now())]).toEqual([
      due,
      null,
      null,
    ]);
  });

  it.each(['61 * * * *', '0 25 * * *', '0 0 * * MOO', '@never'])(
    'refuses %j when it is asked',
    async (cron) => {
      const { code, message } = await refused({ cron });
      expect(code).toBe('CONFIG');
      expect(message).toMatch(
        `Schedule "nightly" expects a cron pattern like "0 2 * * *" and an IANA time zone, got ${JSON.stringify(cron)} in "UTC": CronPattern: `,
      );
    },
  );

  it('refuses a time zone that there is not when it is asked, and again the next time', async () => {
    const { nextAfter } = schedule({ cron: '0 2 * * *', timezone: 'Mars/Base' });
    for (const _ of ['first', 'second']) {
      const { code, message, cause } = await refusal(() => nextAfter(0));
      expect(code).toBe('CONFIG');
      expect(message).toContain('got "0 2 * * *" in "Mars/Base": ');
      expect(cause).toBeInstanceOf(Error);
    }
  });
});

describe('a fixed interval', () => {
  it('is aligned to the epoch, so that all hosts agree', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1000, max: 864_000_000 }),
        fc.integer({ min: 0, max: 4e12 }),
        async (everyMs, now) => {
          const next = (await schedule({ everyMs }).nextAfter(now))!;
          expect(next % everyMs).toBe(0);
          expect(next).toBeGreaterThan(now);
          expect(next - now).toBeLessThanOrEqual(everyMs);
        },
      ),
    );
  });

  it.each([999, 0, -5000, 1000.5, Number.NaN])('refuses %d ms', async (everyMs) => {
    expect(await refusalText(() => schedule({ everyMs }))).toBe(
      `CONFIG: Expected everyMs of schedule "nightly" to be an integer of 1000 or more, got ${everyMs}.`,
    );
  });
});

describe('a definition', () => {
  it('leaves overlap and missed at "allow" and "one"', () => {
    expect(schedule({ everyMs: 1000 })).toMatchObject({ overlap: 'allow', missed: 'one', payload: {} });
  });

  it.each([
    ['neither cron nor everyMs', {}, 'neither'],
    ['both', { cron: '0 2 * * *', everyMs: 1000 }, 'both'],
  ])('with %s is refused', async (_, parts, got) => {
    expect(await refusalText(() => schedule(parts))).toBe(
      `CONFIG: Schedule "nightly" expects either cron or everyMs, got ${got}.`,
    );
  });

  it.each(['', 'a b', 'ä', 'n'.repeat(129)])('with the name %j is refused', async (name) => {
    const { code, message } = await refusal(() => schedule({ name, everyMs: 1000 }));
    expect(code).toBe('CONFIG');
    expect(message).toMatch(/^A schedule's name must match \/\^\[A-Za-z0-9\._-\]\{1,128\}\$\/, got ".*"\.$/);
  });
});

describe('until', () => {
  it('is the last possible time of a pattern and of an interval', async () => {
    const until = new Date('2026-07-03T02:00:00Z');
    const from = '2026-07-01T02:00:00Z';
    expect(await moments({ cron: '0 2 * * *', until }, from, 9)).toEqual([
      '2026-07-02T02:00',
      '2026-07-03T02:00',
    ]);
    expect(await moments({ everyMs: 86_400_000, until }, from, 9)).toEqual([
      '2026-07-02T00:00',
      '2026-07-03T00:00',
    ]);
    expect(schedule({ cron: '0 2 * * *', until }).timing).toBe(
      '0 2 * * * (UTC) until 2026-07-03T02:00:00.000Z',
    );
  });

  it('is a Date', async () => {
    expect(await refusalText(() => schedule({ everyMs: 1_000, until: '2026' as never }))).toContain(
      'until to be a Date, got "2026"',
    );
  });
});
