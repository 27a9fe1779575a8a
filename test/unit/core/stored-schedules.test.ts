/** Schedules that are made at run time: what a client does with them, and what a tick enqueues. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { createApp } from '../../../core/features/table.ts';
import { defineJob } from '../../../core/kernel/app/job.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import type { StoredScheduleDefinition } from '../../../core/kernel/app/stored-schedule.ts';
import { connect } from '../../../core/routing/connect.ts';
import { bench, job, ring, startMs } from './kit.ts';

const minuteMs = 60_000;
const mail = defineJob({ name: 'mail', payload: z.object({ to: z.string() }), handle: async () => {} });
const work = job();

type Parts = Partial<StoredScheduleDefinition<{ to: string }>>;
const every = (parts: Parts = {}): StoredScheduleDefinition<{ to: string }> => ({
  name: 'a',
  everyMs: minuteMs,
  job: mail,
  payload: { to: 'a@b.example' },
  ...parts,
});

function started(options: Parameters<typeof bench>[0] = {}) {
  const b = bench({ jobs: [mail, work], ...options });
  const { schedules } = b.client;
  return {
    ...b,
    schedules,
    tick: () => tick(b.app, b.client),
    async enqueued() {
      const leases = await b.backend.fetch({ queues: ['default'], max: 5_000, leaseMs: minuteMs, waitMs: 0 });
      const reading = { ring, now: b.clock.now(), maxBytes: 1_048_576 };
      return leases.map(({ body }) => readEnvelope(body, reading));
    },
  };
}

describe('a schedule made at run time', () => {
  it('is enqueued when it falls due, with its payload, name and context, once', async () => {
    const t = started();
    const context = { tenantId: 'acme', actorId: 'ada' };
    const made = await t.schedules.upsert(every({ context }));
    expect(made).toMatchObject({
      name: 'a',
      timing: 'every 60000 ms',
      job: 'mail',
      payload: { to: 'a@b.example' },
      overlap: 'allow',
      missed: 'one',
      context,
      createdAt: startMs,
      nextAt: startMs + minuteMs,
      pausedAt: null,
      failure: null,
    });
    expect(await t.tick()).toEqual([]);
    t.clock.advance(minuteMs);
    const [id] = await t.tick();
    expect(await t.tick()).toEqual([]);
    expect(await t.enqueued()).toMatchObject([
      {
        identifier: id,
        job: 'mail',
        name: 'a',
        payload: { to: 'a@b.example' },
        idempotencyKey: `schedule:a@${new Date(startMs + minuteMs).toISOString()}`,
        context,
      },
    ]);
    expect((await t.schedules.get('a'))?.nextAt).toBe(startMs + 2 * minuteMs);
    expect(t.kinds()).not.toContain('schedule.failed');
  });

  it('follows the clock of its zone when that changes', async () => {
    const t = started();
    const { everyMs: _, ...rest } = every();
    await t.schedules.upsert({ ...rest, cron: '30 2 * * *', timezone: 'Europe/Berlin' });
    const inCode = defineSchedule({
      name: 'same',
      cron: '30 2 * * *',
      timezone: 'Europe/Berlin',
      job: mail,
      payload: { to: '' },
    });
    // A year, with both changes of the clock.
    for (let at = startMs, days = 0; days < 366; days++) {
      const due = (await inCode.nextAfter(at))!;
      expect((await t.schedules.get('a'))?.nextAt).toBe(due);
      t.clock.advance(due - at);
      expect(await t.tick()).toHaveLength(1);
      at = due;
    }
  });

  it('makes up for what it missed as it says', async () => {
    const t = started();
    for (const missed of ['skip', 'one', 'all'] as const)
      await t.schedules.upsert(every({ name: missed, missed }));
    t.clock.advance(10 * minuteMs);
    await t.tick();
    const names = (await t.enqueued()).map(({ name }) => name);
    const count = (name: string) => names.filter((one) => one === name).length;
    expect([count('skip'), count('one'), count('all')]).toEqual([2, 1, 10]);
  });

  it('leaves a moment out while its last job is unfinished, where it says so', async () => {
    const t = started();
    await t.schedules.upsert(every({ overlap: 'skip' }));
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toEqual([]);
    expect(t.eventsOf('schedule.skipped')).toMatchObject([{ schedule: 'a', reason: 'overlap' }]);
  });

  it('is enqueued once by two hosts that tick at once', async () => {
    const t = started();
    const other = connect(t.app, t.backend);
    for (let i = 0; i < 300; i++) await t.schedules.upsert(every({ name: `s${i}` }));
    for (let minutes = 0; minutes < 3; minutes++) {
      t.clock.advance(minuteMs);
      await Promise.all([t.tick(), tick(t.app, other), tick(t.app, other)]);
    }
    await t.tick();
    const keys = (await t.enqueued()).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toHaveLength(900);
    expect(new Set(keys).size).toBe(900);
    expect(t.kinds()).not.toContain('schedule.failed');
  });

  it('is enqueued after all when the host that was at it died before it wrote', async () => {
    const t = started();
    await t.schedules.upsert(every());
    t.clock.advance(minuteMs);
    // As a host that was killed leaves it: the job is enqueued, its key is held, and nothing has moved.
    const key = `schedule:a@${new Date(startMs + minuteMs).toISOString()}`;
    await t.client.stores.keys.claim('schedule:a', 'dead', t.clock.now() + 15_000);
    await t.client.enqueue(mail, { to: 'a@b.example' }, { idempotencyKey: key, name: 'a' });
    expect(await t.tick()).toEqual([]);
    t.clock.advance(15_000);
    expect(await t.tick()).toHaveLength(1);
    const keys = (await t.enqueued()).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toEqual([key, key]); // two messages, one effect
    expect((await t.schedules.get('a'))?.nextAt).toBe(startMs + 2 * minuteMs);
  });

  it('fails alone and in words when its job is gone, and goes on when it is back', async () => {
    const before = started();
    await before.schedules.upsert(every());
    await before.schedules.upsert(every({ name: 'b', job: work, payload: {} } as never));
    const t = started({ jobs: [work], clock: before.clock });
    const gone = connect(t.app, before.backend);
    before.clock.advance(minuteMs);
    expect(await tick(t.app, gone)).toHaveLength(1);
    expect(t.eventsOf('schedule.failed')).toMatchObject([{ schedule: 'a', error: { code: 'UNKNOWN_JOB' } }]);
    const failed = await gone.schedules.get('a');
    expect(failed?.failure).toMatchObject({ code: 'UNKNOWN_JOB', at: startMs + minuteMs });
    expect(failed?.failure?.message).toBe(
      'Schedule "a" expects job "mail", which this app does not have. Remove the schedule, upsert it with another job, or bring the job back.',
    );
    before.clock.advance(30_000);
    expect(await before.tick()).toHaveLength(1);
    expect(await before.schedules.get('a')).toMatchObject({ failure: null, nextAt: startMs + 2 * minuteMs });
  });

  it('gives way to one of the same name in code', async () => {
    const before = started();
    await before.schedules.upsert(every());
    const inCode = defineSchedule({ name: 'a', everyMs: minuteMs, job: work, payload: {} });
    const t = started({ schedules: [inCode] });
    const client = connect(t.app, before.backend);
    before.clock.advance(minuteMs);
    t.clock.advance(minuteMs);
    await tick(t.app, client);
    expect(t.eventsOf('schedule.failed')).toMatchObject([
      { schedule: 'a', error: { message: expect.stringContaining('The one in code is used') } },
    ]);
    await expect(client.schedules.upsert(every())).rejects.toMatchObject({
      code: 'OPTION',
      message: 'Expected a name that no schedule in code has, got "a". Change that schedule in code.',
    });
    expect(await client.schedules.remove('a')).toBe(true);
  });
});

describe('client.schedules', () => {
  it('changes what is there: a new timing begins now, another payload changes no moment', async () => {
    const t = started();
    await t.schedules.upsert(every());
    t.clock.advance(30_000);
    const same = await t.schedules.upsert(every({ payload: { to: 'new' } }));
    expect(same).toMatchObject({
      createdAt: startMs,
      changedAt: startMs + 30_000,
      nextAt: startMs + minuteMs,
      payload: { to: 'new' },
    });
    t.clock.advance(minuteMs);
    const other = await t.schedules.upsert(every({ everyMs: 2 * minuteMs }));
    expect(other.nextAt).toBeGreaterThan(t.clock.now());
    expect(await t.tick()).toEqual([]);
  });

  it('pauses and resumes: nothing of the pause is made up for, and a paused one is not asked for', async () => {
    const t = started();
    await t.schedules.upsert(every({ missed: 'all' }));
    expect(await t.schedules.pause('a')).toBe(true);
    expect(await t.schedules.pause('a')).toBe(false);
    expect(await t.schedules.get('a')).toMatchObject({ pausedAt: startMs, nextAt: null });
    t.clock.advance(10 * minuteMs);
    expect(await t.tick()).toEqual([]);
    expect(await t.schedules.upsert(every({ missed: 'all', payload: { to: 'x' } }))).toMatchObject({
      pausedAt: startMs,
      nextAt: null,
    });
    expect(await t.schedules.resume('a')).toBe(true);
    expect(await t.schedules.resume('a')).toBe(false);
    expect(await t.tick()).toEqual([]);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
  });

  it('removes, and one made anew begins anew', async () => {
    const t = started();
    await t.schedules.upsert(every({ missed: 'all' }));
    t.clock.advance(minuteMs);
    await t.tick();
    expect(await t.schedules.remove('a')).toBe(true);
    expect(await t.schedules.remove('a')).toBe(false);
    t.clock.advance(10 * minuteMs);
    expect(await t.tick()).toEqual([]);
    await t.schedules.upsert(every({ missed: 'all' }));
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
  });

  it('runs one now, beside its moments, also one in code', async () => {
    const inCode = defineSchedule({ name: 'code', everyMs: minuteMs, job: work, payload: { n: 1 } });
    const t = started({ schedules: [inCode] });
    await t.schedules.upsert(every({ context: { tenantId: 'acme' } }));
    const ids = [
      await t.schedules.runNow('a'),
      await t.schedules.runNow('a'),
      await t.schedules.runNow('code'),
    ];
    expect(await t.enqueued()).toMatchObject([
      { identifier: ids[0], job: 'mail', context: { tenantId: 'acme' } },
      { identifier: ids[1], job: 'mail' },
      { identifier: ids[2], job: 'work', payload: { n: 1 } },
    ]);
    expect((await t.schedules.get('a'))?.nextAt).toBe(startMs + minuteMs);
    expect(await t.schedules.pause('code')).toBe(true);
    expect(await t.schedules.resume('code')).toBe(true);
  });

  it('lists by name, page by page', async () => {
    const t = started();
    for (let i = 0; i < 5; i++) await t.schedules.upsert(every({ name: `s${i}` }));
    const first = await t.schedules.list({ max: 2 });
    expect(first.schedules.map(({ name }) => name)).toEqual(['s0', 's1']);
    const second = await t.schedules.list({ max: 3, after: first.next! });
    expect(second.schedules.map(({ name }) => name)).toEqual(['s2', 's3', 's4']);
    expect(second.next).toBeNull();
  });

  it('keeps those of several backends where their jobs are', async () => {
    const fast = defineJob({ name: 'fast', backend: 'fast', payload: z.object({}), handle: async () => {} });
    const [here, there] = [started(), started()];
    const app = createApp({ jobs: [mail, fast], signing: ring, clock: here.clock });
    const client = connect(app, { default: here.backend, fast: there.backend });
    await client.schedules.upsert(every());
    await client.schedules.upsert({ name: 'b', everyMs: minuteMs, job: fast, payload: {} });
    expect(await here.schedules.get('b')).toBeNull();
    expect((await client.schedules.list()).schedules.map(({ name }) => name)).toEqual(['a', 'b']);
    const taken = client.schedules.upsert({ name: 'a', everyMs: minuteMs, job: fast, payload: {} });
    await expect(taken).rejects.toMatchObject({ code: 'OPTION' });
    expect(await tick(app, client, startMs + minuteMs)).toHaveLength(2);
    expect(await client.schedules.remove('b')).toBe(true);
  });

  const wrong: [what: string, parts: Record<string, unknown>, code: string, message: RegExp][] = [
    ['a name of a megabyte', { name: 'x'.repeat(1_000_000) }, 'OPTION', /^.{0,200}$/],
    ['a name with a space', { name: 'a b' }, 'OPTION', /the name of a schedule to match .*, got "a b"/],
    ['no name', { name: undefined }, 'OPTION', /got undefined/],
    ['a cron text that is none', { everyMs: undefined, cron: 'soon' }, 'OPTION', /cron pattern .*"soon"/],
    [
      'a cron text of a megabyte',
      { everyMs: undefined, cron: '* '.repeat(500_000) },
      'OPTION',
      /at most 256/,
    ],
    ['a cron text that never comes', { everyMs: undefined, cron: '0 0 30 2 *' }, 'OPTION', /never comes due/],
    ['a month that there is not', { everyMs: undefined, cron: '0 0 1 13 *' }, 'OPTION', /got "0 0 1 13 \*"/],
    [
      'a zone that there is not',
      { everyMs: undefined, cron: '0 0 * * *', timezone: 'Mars/Base' },
      'OPTION',
      /"Mars\/Base"/,
    ],
    ['cron and everyMs', { cron: '0 0 * * *' }, 'OPTION', /either cron or everyMs, got both/],
    ['neither', { everyMs: undefined }, 'OPTION', /got neither/],
    [
      'too short an interval',
      { everyMs: 10 },
      'OPTION',
      /everyMs of schedule "a" to be an integer of 1000 or more, got 10/,
    ],
    ['no interval', { everyMs: '1m' }, 'OPTION', /got "1m"/],
    ['an unknown option', { evry: 1 }, 'OPTION', /Unknown option "evry"/],
    ['a ping', { ping: () => {} }, 'OPTION', /Unknown option "ping"/],
    [
      'another overlap',
      { overlap: 'maybe' },
      'OPTION',
      /overlap of schedule "a" to be one of skip, allow, got "maybe"/,
    ],
    ['another missed', { missed: 7 }, 'OPTION', /missed of schedule "a" to be one of skip, one, all, got 7/],
    ['no job', { job: undefined }, 'UNKNOWN_JOB', /got undefined/],
    ['a name for a job', { job: 'mail' }, 'UNKNOWN_JOB', /got "mail"/],
    ['a job of another app', { job: job({ name: 'other' }) }, 'UNKNOWN_JOB', /"other" is not among/],
    ['a payload that does not fit', { payload: { to: 7 } }, 'PAYLOAD', /mail/],
    ['a payload that is no JSON', { payload: { to: 'x', n: 1n } }, 'PAYLOAD', /payload/],
    ['a payload that is too large', { payload: { to: 'x'.repeat(70_000) } }, 'LIMIT', /at most 65536 bytes/],
    ['a context that is none', { context: { tenantId: 7 } }, 'OPTION', /context.tenantId/],
  ];
  it.each(wrong)('refuses %s', async (_, parts, code, message) => {
    const t = started();
    const error = await t.schedules.upsert(every(parts as Parts)).catch((cause) => cause);
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(message);
    expect((await t.schedules.list()).schedules).toEqual([]);
  });

  it('says what to do where no store keeps them, where nothing tells an end, and for unknown names', async () => {
    const t = started();
    const { stores, ...bare } = t.backend;
    const { schedules: _, texts: __, ...without } = stores!;
    const none = connect(t.app, { ...bare, stores: without });
    await expect(none.schedules.upsert(every())).rejects.toThrow(/keeps no schedules .*: give it a store/);
    await expect(none.schedules.list()).rejects.toMatchObject({ code: 'CONFIG' });
    const records = { ...stores!.records, recordsDisabled: true as const };
    const forgetful = connect(t.app, { ...bare, stores: { ...stores!, records } });
    await expect(forgetful.schedules.upsert(every({ overlap: 'skip' }))).rejects.toThrow(/expects records/);
    for (const verb of ['pause', 'resume', 'runNow'] as const)
      await expect(t.schedules[verb]('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(t.schedules.get('no name')).rejects.toMatchObject({ code: 'OPTION' });
    await expect(t.schedules.list({ max: 0 })).rejects.toMatchObject({ code: 'OPTION' });
  });
});
