/** Schedules made at run time as a store keeps them: somebody who can write there and has no key makes no jobs. */

import { describe, expect, it } from 'vitest';
import { keyRing } from '../../../core/envelope/signing.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { lateStored } from '../../../core/features/schedules/stored/find-late.ts';
import { createApp } from '../../../core/features/table.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { type Bench, bench, job, secret, startMs } from './kit.ts';

const minuteMs = 60_000;
const work = job();
const [k1, k2] = [
  { kid: 'k1', secret: secret(1) },
  { kid: 'k2', secret: secret(2) },
];

function started(signing = keyRing([k1]), jobs = [work], first?: Bench) {
  const b = bench({ jobs, signing, ...(first && { clock: first.clock }) });
  const client = connect(b.app, (first ?? b).backend);
  const { schedules } = client;
  const store = client.stores.schedules!;
  return {
    ...b,
    schedules,
    store,
    upsert: (name = 'a') => schedules.upsert({ name, everyMs: minuteMs, job: work, payload: {} }),
    tick: () => tick(b.app, client),
    async rewrite(change: (text: string) => string, name = 'a') {
      const row = (await store.get(name))!;
      await store.write({ ...row, text: change(row.text) }, row.version);
    },
    codes: () => b.eventsOf('schedule.failed').map(({ error }) => error.code),
  };
}

/** As the release before wrote it. */
const unsigned = (text: string): string => `${text.slice(0, text.indexOf(',"kid"'))}}`;

describe('a stored schedule', () => {
  it.each([
    ['unsigned', unsigned],
    ['changed', (text: string) => text.replace('"job":"', '"job":"x')],
    ['that of another name', (text: string) => text],
    ['no JSON', () => '{'],
  ])('enqueues nothing when its text is %s, and says so everywhere', async (what, change) => {
    const t = started();
    await t.upsert('b');
    const other = (await t.store.get('b'))!.text;
    await t.upsert();
    await t.rewrite(what.startsWith('that') ? () => other : change);
    const there = await t.store.get('a');
    expect((await t.schedules.get('a'))!.failure!.since).toBe(t.clock.now());
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1); // that is b
    expect(t.eventsOf('schedule.failed')).toMatchObject([{ schedule: 'a', error: { code: 'SIGNATURE' } }]);
    expect(await t.store.get('a')).toEqual(there);
    const { schedules } = await t.schedules.list();
    expect(schedules.map(({ failure }) => failure?.code)).toEqual(['SIGNATURE', undefined]);
    expect(await t.schedules.get('a')).toMatchObject({
      ...{ job: '', payload: null, context: null, timing: 'refused' },
      failure: {
        code: 'SIGNATURE',
        message: expect.stringContaining('The stored schedule "a" does not verify'),
      },
    });
    for (const act of [t.schedules.runNow, t.schedules.pause, t.schedules.resume])
      await expect(act('a')).rejects.toMatchObject({ code: 'SIGNATURE' });
    expect(await lateStored(t.app, t.store, t.clock.now() + minuteMs, 30_000)).toMatchObject({
      late: expect.arrayContaining([{ schedule: 'a', lateMs: minuteMs, why: 'SIGNATURE' }]),
    });
  });

  it('that is refused is upserted anew, or removed', async () => {
    const t = started();
    for (const name of ['a', 'b']) {
      await t.upsert(name);
      await t.rewrite(unsigned, name);
    }
    expect(await t.upsert()).toMatchObject({ failure: null, nextAt: startMs + minuteMs });
    expect(await t.schedules.remove('b')).toBe(true);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    expect(t.codes()).toEqual([]);
  });

  it('of the release before is taken while unsigned envelopes are, and is signed by its tick', async () => {
    const until = new Date(startMs + 2 * minuteMs);
    const t = started(keyRing([k1], { acceptUnsignedUntil: until }));
    for (const name of ['a', 'b']) {
      await t.upsert(name);
      await t.rewrite(unsigned, name);
    }
    await t.schedules.pause('b');
    await t.rewrite(unsigned, 'b');
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    t.clock.advance(minuteMs);
    expect(await t.tick()).toHaveLength(1);
    expect(await t.schedules.get('a')).toMatchObject({ failure: null });
    expect(await t.schedules.get('b')).toMatchObject({ failure: { code: 'SIGNATURE' } });
  });

  it('is told again after half a minute', async () => {
    const t = started();
    await t.upsert();
    await t.rewrite(unsigned);
    t.clock.advance(minuteMs);
    for (let second = 0; second < 60; second++) {
      await t.tick();
      t.clock.advance(1_000);
    }
    expect(t.codes()).toEqual(['SIGNATURE', 'SIGNATURE']);
  });

  it('stays due for processes that have its key or its job, however often others tick', async () => {
    const t = started(keyRing([k2, k1]));
    const others = [
      started(keyRing([k1]), [work], t),
      started(keyRing([k2, k1]), [job({ name: 'another' })], t),
    ];
    await t.upsert();
    let enqueued = 0;
    t.clock.advance(500);
    for (let second = 0; second < 600; second++) {
      t.clock.advance(1_000);
      for (const other of others) expect(await other.tick()).toEqual([]);
      if (second % 60 === 59) enqueued += (await t.tick()).length;
    }
    expect(enqueued).toBe(10);
    expect(others[0]!.codes()).toContain('UNKNOWN_KEY');
    expect(others[1]!.codes()).toContain('UNKNOWN_JOB');
  });
});

it('many schedules of other backends keep none of this one waiting', async () => {
  const clock = createVirtualClock(startMs);
  const store = memoryStore({ clock });
  const [here, there] = [job(), job({ name: 'there', backend: 'there' })];
  const app = createApp({ jobs: [here, there], signing: keyRing([k1]), clock });
  const backend = memory({ clock });
  const shared = { store: { default: store, there: store } };
  const both = connect(app, { default: backend, there: memory({ clock }) }, shared);
  for (let i = 0; i < 450; i++)
    await both.schedules.upsert({ name: `a${i}`, everyMs: minuteMs, job: there, payload: {} });
  await both.schedules.upsert({ name: 'z', everyMs: minuteMs, job: here, payload: {} });
  const one = connect(app, { default: backend, there: null }, { store: { default: store } });
  clock.advance(minuteMs);
  expect(await tick(app, one)).toHaveLength(1);
  clock.advance(minuteMs);
  expect(await tick(app, one)).toHaveLength(1);
  expect(await tick(app, both)).toHaveLength(450);
});
