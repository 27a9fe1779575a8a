/** What a tick enqueues: once over all hosts, nothing lost in a crash, one bad schedule alone. */

import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { KeyStore } from '../../../core/contract/store.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { defineSchedule, type Schedule, type ScheduleDefinition } from '../../../core/kernel/app/schedule.ts';
import { connect } from '../../../core/routing/connect.ts';
import { bench, job, ring, startMs } from './kit.ts';

const minuteMs = 60_000;
const work = job();
const every = (parts: Partial<ScheduleDefinition<unknown>> = {}): Schedule =>
  defineSchedule({ name: 'every-minute', everyMs: minuteMs, job: work, payload: { n: 1 }, ...parts });

/** A bench whose schedules have been seen once, at `startMs`. */
async function seen(...schedules: Schedule[]) {
  const b = bench({ jobs: [work], schedules });
  await tick(b.app, b.client);
  const keysOf = async (): Promise<(string | null)[]> => {
    const leases = await b.backend.fetch({ queues: ['default'], max: 5000, leaseMs: 60_000, waitMs: 0 });
    const reading = { ring, now: b.clock.now(), maxBytes: 1_048_576 };
    return leases.map(({ body }) => readEnvelope(body, reading).idempotencyKey);
  };
  return { ...b, tick: () => tick(b.app, b.client), keysOf };
}

const key = (afterMs: number, name = 'every-minute'): string =>
  `schedule:${name}@${new Date(startMs + afterMs).toISOString()}`;

describe('the first tick', () => {
  it('enqueues nothing of the past: a schedule starts when it is first seen', async () => {
    const b = bench({ jobs: [work], schedules: [every({ missed: 'all' })] });
    expect(await tick(b.app, b.client)).toEqual([]);
    expect(await tick(b.app, b.client)).toEqual([]);
  });
});

describe('a tick', () => {
  it('enqueues the due moment with its payload, its name and a key made of the moment', async () => {
    const b = await seen(every());
    b.clock.advance(minuteMs + 1);
    const [id] = await b.tick();
    const { body } = (await b.take()).lease;
    expect(readEnvelope(body, { ring, now: startMs, maxBytes: 1_048_576 })).toMatchObject({
      job: 'work',
      payload: { n: 1 },
      name: 'every-minute',
      identifier: id,
      idempotencyKey: key(minuteMs),
      schedule: null,
    });
    expect(b.eventsOf('schedule.enqueued')).toEqual([
      { type: 'schedule.enqueued', schedule: 'every-minute', dueAt: startMs + minuteMs, id },
    ]);
  });

  it('enqueues a moment that is due right now, and only once', async () => {
    const b = await seen(every());
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
    expect(await b.tick()).toEqual([]);
    b.clock.advance(minuteMs - 1);
    expect(await b.tick()).toEqual([]);
    b.clock.advance(1);
    expect(await b.tick()).toHaveLength(1);
    expect(await b.keysOf()).toEqual([key(minuteMs), key(2 * minuteMs)]);
  });

  it('of two hosts at the same moment enqueues once', async () => {
    const b = await seen(every({ missed: 'all' }));
    const other = connect(b.app, b.backend);
    for (let minutes = 0; minutes < 50; minutes++) {
      b.clock.advance(minuteMs);
      await Promise.all([tick(b.app, b.client), tick(b.app, other), tick(b.app, other)]);
    }
    expect(b.kinds()).not.toContain('schedule.failed'); // who comes second has no fault to tell
    const keys = await b.keysOf();
    expect(keys).toEqual(Array.from({ length: 50 }, (_, i) => key((i + 1) * minuteMs)));
  });

  it('of a host whose clock is behind makes nothing due again', async () => {
    const b = await seen(every());
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
    expect(await tick(b.app, b.client, b.clock.now() - 5000)).toEqual([]);
    expect(await b.tick()).toEqual([]);
  });

  it('goes on where the last one stopped, a year later too', async () => {
    const b = await seen(every({ missed: 'one', everyMs: 86_400_000 }));
    b.clock.advance(365 * 86_400_000);
    expect(await b.tick()).toHaveLength(1);
  });
});

describe('moments that passed without a tick', () => {
  const pauseMs = 10 * minuteMs;
  it.each([
    ['one', [key(10 * minuteMs)]],
    ['all', Array.from({ length: 10 }, (_, i) => key((i + 1) * minuteMs))],
  ] as const)('missed: %s', async (missed, keys) => {
    const b = await seen(every({ missed }));
    b.clock.advance(pauseMs);
    await b.tick();
    expect(await b.keysOf()).toEqual(keys);
  });

  it('missed: skip runs none of them, but forgives a tick that is late', async () => {
    const b = await seen(every({ missed: 'skip', everyMs: 5 * minuteMs }));
    b.clock.advance(9 * minuteMs);
    expect(await b.tick()).toEqual([]);
    b.clock.advance(minuteMs + 60_000);
    await b.tick();
    expect(await b.keysOf()).toEqual([key(10 * minuteMs)]);
  });

  it('missed: all takes 1000 per tick and goes on with the next', async () => {
    const b = await seen(every({ missed: 'all' }));
    b.clock.advance(2500 * minuteMs);
    expect([(await b.tick()).length, (await b.tick()).length, (await b.tick()).length]).toEqual([
      1000, 1000, 500,
    ]);
    const keys = await b.keysOf();
    expect(new Set(keys).size).toBe(2500);
    expect(await b.tick()).toEqual([]);
  });

  it('missed: one does not walk through a month of seconds', async () => {
    const inner = every({ everyMs: 1000, missed: 'one' });
    let asked = 0;
    const counting: Schedule = {
      ...inner,
      nextAfter(after) {
        asked++;
        return inner.nextAfter(after);
      },
    };
    const b = await seen(counting);
    b.clock.advance(30 * 86_400_000);
    expect(await b.tick()).toHaveLength(1);
    expect(asked).toBeLessThan(200);
    expect(await b.keysOf()).toEqual([key(30 * 86_400_000)]);
  });

  it.each([70 * minuteMs, 3 * 86_400_000, 400 * minuteMs])(
    'missed: one finds the last moment of a rare schedule after %d ms',
    async (pause) => {
      const b = await seen(every({ everyMs: 60 * minuteMs, missed: 'one' }));
      b.clock.advance(pause);
      await b.tick();
      expect(await b.keysOf()).toEqual([key(Math.floor(pause / (60 * minuteMs)) * 60 * minuteMs)]);
    },
  );
});

describe('overlap', () => {
  it('skip: nothing while the last job is unfinished, the next moment after that again', async () => {
    const b = await seen(every({ overlap: 'skip' }));
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
    b.clock.advance(minuteMs);
    expect(await b.tick()).toEqual([]);
    const run = await b.take(10 * minuteMs);
    b.clock.advance(minuteMs);
    expect(await b.tick()).toEqual([]);
    expect((await b.run(run)).outcome).toBe('acked');
    expect(await b.tick()).toEqual([]);
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
    expect(await b.keysOf()).toEqual([key(4 * minuteMs)]);
  });

  it('skip: the moments of one tick overlap each other too', async () => {
    const b = await seen(every({ overlap: 'skip', missed: 'all' }));
    b.clock.advance(5 * minuteMs);
    expect(await b.tick()).toHaveLength(1);
  });

  it('skip: a dead letter or a cancelled job is finished', async () => {
    const b = await seen(every({ overlap: 'skip' }));
    b.clock.advance(minuteMs);
    const [id] = await b.tick();
    await b.client.cancel(id!);
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
  });

  it('allow: the next moment does not wait', async () => {
    const b = await seen(every());
    b.clock.advance(minuteMs);
    await b.tick();
    b.clock.advance(minuteMs);
    expect(await b.tick()).toHaveLength(1);
  });
});

describe('when something fails', () => {
  it('one schedule fails alone, keeps its place and tries again', async () => {
    const bad = every({ name: 'bad', payload: { when: new Date(0) } });
    const b = bench({ jobs: [work], schedules: [bad, every({ name: 'good' })] });
    await tick(b.app, b.client);
    b.clock.advance(minuteMs);
    expect(await tick(b.app, b.client)).toHaveLength(1);
    const failed = b.eventsOf('schedule.failed');
    expect(failed.map(({ schedule, error }) => [schedule, error.code])).toEqual([['bad', 'PAYLOAD']]);
    await tick(b.app, b.client);
    expect(b.kinds().filter((kind) => kind === 'schedule.failed')).toHaveLength(2);
  });

  it('a backend that is down for a while costs no moment', async () => {
    const b = await seen(every({ missed: 'all' }));
    let down = true;
    const shaky = {
      ...b.client,
      enqueue: (...call: Parameters<typeof b.client.enqueue>) =>
        down ? Promise.reject(new Error('connection refused')) : b.client.enqueue(...call),
    } as typeof b.client;
    b.clock.advance(2 * minuteMs);
    expect(await tick(b.app, shaky)).toEqual([]);
    const [{ error: failed } = {}] = b.eventsOf('schedule.failed');
    expect(failed).toBeInstanceOf(LongshoreError);
    expect(failed?.code).toBe('BACKEND');
    expect(failed?.message).toContain('connection refused');
    down = false;
    expect(await tick(b.app, shaky)).toHaveLength(2);
    expect(await b.keysOf()).toEqual([key(minuteMs), key(2 * minuteMs)]);
  });

  it('a crash between enqueue and the note of it: the repeat has the same key, so one effect', async () => {
    let effects = 0;
    const counted = job({ handle: () => void effects++ });
    const b = bench({ jobs: [counted], schedules: [every({ job: counted })] });
    await tick(b.app, b.client);
    b.clock.advance(minuteMs);
    const keys: KeyStore = b.client.stores.keys;
    const dying = { ...b.client, stores: { ...b.client.stores, keys: { ...keys, release: died } } };
    await tick(b.app, dying);
    expect(await tick(b.app, b.client)).toEqual([]); // the dead host's hold
    b.clock.advance(14_999);
    expect(await tick(b.app, b.client)).toEqual([]);
    b.clock.advance(1);
    expect(await tick(b.app, b.client)).toHaveLength(1);
    expect([(await b.next()).outcome, (await b.next()).outcome]).toEqual(['acked', 'skipped-idempotent']);
    expect(effects).toBe(1);
  });

  const died = (): Promise<boolean> => Promise.reject(new Error('the host died here'));
});

describe('a host that dies in the middle of a tick', () => {
  const second = 1_000;

  it('keeps the others out for a while, and no moment of that time is left out', async () => {
    const b = await seen(every({ everyMs: 10 * second }));
    b.clock.advance(10 * second);
    await b.tick();
    b.clock.advance(10 * second);
    await b.client.stores.keys.claim('schedule:every-minute', 'the dead host', b.clock.now() + 60 * second);
    for (let i = 2; i < 14; i++, b.clock.advance(10 * second)) await b.tick();
    expect(await b.keysOf()).toEqual(Array.from({ length: 13 }, (_, i) => key((i + 1) * 10 * second)));
  });

  it('and a tick long after that takes the last moment of the time without ticks', async () => {
    const b = await seen(every());
    b.clock.advance(minuteMs);
    await b.client.stores.keys.claim('schedule:every-minute', 'the dead host', b.clock.now() + 5 * second);
    expect(await b.tick()).toEqual([]);
    b.clock.advance(60 * minuteMs);
    await b.tick();
    // And those of the last 90 s, which are forgiven as with a tick that is late.
    expect(await b.keysOf()).toEqual([key(59 * minuteMs), key(60 * minuteMs), key(61 * minuteMs)]);
  });
});

describe('a tick that takes long', () => {
  it('keeps its lock for as long as it enqueues', async () => {
    const b = await seen(every({ missed: 'all' }));
    const other = connect(b.app, b.backend);
    const others: string[] = [];
    const slow = {
      ...b.client,
      async enqueue(...call: Parameters<typeof b.client.enqueue>) {
        const sent = await b.client.enqueue(...call);
        b.clock.advance(10_000);
        others.push(...(await tick(b.app, other, startMs + 20 * minuteMs)));
        return sent;
      },
    } as typeof b.client;
    b.clock.advance(20 * minuteMs);
    expect(await tick(b.app, slow)).toHaveLength(20);
    expect(others).toEqual([]);
  });

  it('ends when another host has taken its lock', async () => {
    const b = await seen(every({ missed: 'all' }));
    const { keys } = b.client.stores;
    const frozen = {
      ...b.client,
      async enqueue(...call: Parameters<typeof b.client.enqueue>) {
        const sent = await b.client.enqueue(...call);
        b.clock.advance(minuteMs);
        await keys.claim('schedule:every-minute', 'another host', b.clock.now() + minuteMs);
        return sent;
      },
    } as typeof b.client;
    b.clock.advance(20 * minuteMs);
    expect(await tick(b.app, frozen)).toHaveLength(1);
  });
});
