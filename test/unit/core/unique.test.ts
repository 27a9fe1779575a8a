/** Unique jobs: while an earlier job with the key stands, no second one is enqueued. */

import { describe, expect, it } from 'vitest';
import type { KeyStore } from '../../../core/contract/store.ts';
import { createApp } from '../../../core/features/table.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { Unique } from '../../../core/kernel/app/unique.ts';
import { connect } from '../../../core/routing/connect.ts';
import { bench, job, ring } from './kit.ts';

const dayMs = 86_400_000;
const unique = (time: Unique['during'], key = 'k'): EnqueueOptions => ({ unique: { key, during: time } });

function start(failing = false) {
  const work = job({
    handle() {
      if (failing) throw new Error('down');
    },
  });
  const other = job({ name: 'other', queue: 'second' });
  const b = bench({ jobs: [work, other] });
  return {
    ...b,
    work,
    other,
    /** The id of the new job; `null` = another one stood for it. */
    async add(options: EnqueueOptions, payload: unknown = {}): Promise<string | null> {
      const { id, duplicate } = await b.client.enqueue(work, payload, options);
      return duplicate ? null : id;
    },
    ready: async () =>
      (await b.backend.admin!.stats()).reduce((sum, { ready, delayed }) => sum + ready + delayed, 0),
  };
}

describe('hosts whose clocks are an hour apart', () => {
  it('keep to the time of a queue that has one', async () => {
    const b = start();
    const hosts = [-3_600_000, 3_600_000].map((ms, n) => {
      const clock = { ...b.clock, now: () => b.clock.now() + ms };
      const app = createApp({ jobs: [b.work], signing: ring, clock, newId: () => `host-${n}-${++ids}` });
      // As stores with a clock for all hosts do it: lengths of time travel.
      const { claim, release, ...rest } = b.backend.stores!.keys!;
      const keys: KeyStore = {
        ...rest,
        claim: (key, owner, until) => claim(key, owner, until - ms),
        release: (key, owner, keep) =>
          release(key, owner, keep && { ...keep, keepUntil: keep.keepUntil - ms }),
      };
      const backend = { ...b.backend, now: async () => b.clock.now() };
      return connect(app, backend, { store: { keys } });
    });
    let ids = 0;
    const add = async (n: number, options: EnqueueOptions) =>
      (await hosts[n]!.enqueue(b.work, {}, options)).duplicate === true;
    const throttle = unique({ forMs: 600_000 });
    expect([await add(0, throttle), await add(1, throttle), await add(0, throttle)]).toEqual([
      false,
      true,
      true,
    ]);
    b.clock.advance(600_000);
    expect([await add(1, throttle), await add(0, throttle)]).toEqual([false, true]);
  });
});

describe('while waiting', () => {
  it('one job waits, and the second call gets its id', async () => {
    const b = start();
    const first = await b.client.enqueue(b.work, 1, unique('waiting'));
    expect(first).toEqual({ id: first.id, queue: 'default' });
    const second = await b.client.enqueue(b.work, 2, unique('waiting'));
    expect(second).toEqual({ ...first, duplicate: true });
    expect(await b.ready()).toBe(1);
  });

  it('a job that runs stands for nobody', async () => {
    const b = start();
    const first = await b.add(unique('waiting'));
    await b.take();
    const second = await b.add(unique('waiting'));
    expect(second).not.toBeNull();
    expect(second).not.toBe(first);
    expect(await b.add(unique('waiting'))).toBeNull();
  });

  it('a job between two attempts waits', async () => {
    const b = start(true);
    await b.add(unique('waiting'));
    await b.next();
    expect(await b.add(unique('waiting'))).toBeNull();
  });

  it.each(['completed', 'cancelled', 'removed'])('a job that is %s stands no more', async (end) => {
    const b = start();
    const id = await b.add({ ...unique('waiting'), delayMs: end === 'cancelled' ? 5_000 : 0 });
    if (end === 'cancelled') await b.client.cancel(id!);
    else await b.next();
    if (end === 'removed') {
      b.clock.advance(30 * dayMs);
      await b.client.stores.records.purge();
      expect(await b.client.status(id!)).toBeNull();
    }
    expect(await b.add(unique('waiting'))).not.toBeNull();
  });

  it('a dead letter stands no more', async () => {
    const b = start(true);
    await b.add({ ...unique('waiting'), maxRetries: 0 });
    await b.next();
    expect(await b.deadLetters()).toHaveLength(1);
    expect(await b.add(unique('waiting'))).not.toBeNull();
  });

  it('a job that is delayed for longer than keys are kept stands for all that time', async () => {
    const b = start();
    await b.add({ ...unique('waiting'), delayMs: 300 * dayMs });
    b.clock.advance(dayMs);
    expect(await b.add(unique('waiting'))).toBeNull();
    b.clock.advance(298 * dayMs);
    await b.client.stores.records.purge();
    expect(await b.add(unique('waiting'))).toBeNull();
  });
});

describe('while running', () => {
  it('any number waits, and none is added while one runs', async () => {
    const b = start();
    const [one, two] = [await b.add(unique('running')), await b.add(unique('running'))];
    expect(two).not.toBeNull();
    const run = await b.take();
    const third = await b.client.enqueue(b.work, {}, unique('running'));
    expect(third).toEqual({ id: one, queue: 'default', duplicate: true });
    await b.run(run);
    expect(await b.add(unique('running'))).not.toBeNull();
    await b.take();
    expect(await b.client.enqueue(b.work, {}, unique('running'))).toMatchObject({ id: two, duplicate: true });
  });
});

describe('while waiting or running', () => {
  it('none is added until the job has ended', async () => {
    const b = start();
    await b.add(unique('either'));
    expect(await b.add(unique('either'))).toBeNull();
    const run = await b.take();
    expect(await b.add(unique('either'))).toBeNull();
    await b.run(run);
    expect(await b.add(unique('either'))).not.toBeNull();
  });

  it('a handler finds itself', async () => {
    const results: unknown[] = [];
    const work = job({
      unique: { key: () => 'k', during: 'either' },
      handle: async (_, ctx) => void results.push(await ctx.enqueue(work, {})),
    });
    const b = bench({ jobs: [work] });
    const { id } = await b.client.enqueue(work, {});
    await b.next();
    expect(results).toEqual([{ id, queue: 'default', duplicate: true }]);
  });
});

describe('for a time', () => {
  it('the first one counts, whatever becomes of it', async () => {
    const b = start();
    await b.add(unique({ forMs: 60_000 }));
    await b.next();
    b.clock.advance(59_999);
    expect(await b.add(unique({ forMs: 60_000 }))).toBeNull();
    b.clock.advance(1);
    expect(await b.add(unique({ forMs: 60_000 }))).not.toBeNull();
  });

  it('each call has its own time', async () => {
    const b = start();
    await b.add(unique({ forMs: 60_000 }));
    b.clock.advance(10_000);
    expect(await b.add(unique({ forMs: 20_000 }))).toBeNull();
    expect(await b.add(unique({ forMs: 10_000 }))).not.toBeNull();
  });
});

describe('a key', () => {
  it('counts per key, job, queue and tenant', async () => {
    const b = start();
    const add = (options: EnqueueOptions) => b.add(options);
    const acme = { context: { tenantId: 'acme' } };
    expect(await add(unique('waiting'))).not.toBeNull();
    expect(await add(unique('waiting', 'K'))).not.toBeNull();
    expect(await add({ ...unique('waiting'), ...acme })).not.toBeNull();
    expect(await add({ ...unique('waiting'), queue: 'second' })).not.toBeNull();
    expect(await b.client.enqueue(b.other, {}, unique('waiting'))).not.toHaveProperty('duplicate');
    expect(await add({ ...unique('waiting'), ...acme })).toBeNull();
    expect(await b.ready()).toBe(5);
  });

  it("is made of the schema's output and the context; null is none", async () => {
    const work = job({
      unique: {
        key: (payload: { n: number | null }, { actorId }) =>
          payload.n === null ? null : `${payload.n} of ${actorId}`,
        during: 'waiting',
      },
    });
    const b = bench({ jobs: [work] });
    const add = async (n: number | null, actorId: string) =>
      (await b.client.enqueue(work, { n }, { context: { actorId } })).duplicate ?? false;
    expect([await add(1, 'ada'), await add(1, 'ben'), await add(2, 'ada')]).toEqual([false, false, false]);
    expect([await add(1, 'ada'), await add(null, 'ada'), await add(null, 'ada')]).toEqual([
      true,
      false,
      false,
    ]);
    // The call's own rule counts.
    const own = { unique: { key: 'own', during: 'waiting' } } as const;
    expect(await b.client.enqueue(work, { n: 1 }, own)).not.toHaveProperty('duplicate');
  });
});

describe('enqueueMany', () => {
  it('finds duplicates in the list and before it, and sends the others as they come', async () => {
    const b = start();
    const standing = await b.add(unique('waiting', 'b'));
    const item = (options: EnqueueOptions) => ({ job: b.work, payload: {}, options });
    const results = await b.client.enqueueMany([
      item(unique('waiting', 'a')),
      item({}),
      item(unique('waiting', 'b')),
      item(unique('waiting', 'a')),
      item(unique('waiting', '')),
      { job: b.other, payload: {} },
    ]);
    const ids = results.map((result) => (result.ok ? result.id : result.error.code));
    expect(ids[3]).toBe(ids[0]);
    expect([ids[2], ids[4]]).toEqual([standing, 'OPTION']);
    expect(results.map((result) => result.ok && result.duplicate)).toEqual([
      ...[false, false, true, true],
      ...[false, false],
    ]);
    expect(await b.ready()).toBe(4);
  });

  it('finds them over its slices, and under a middleware', async () => {
    const calls: number[] = [];
    const work = job({ unique: { key: (n: number) => String(n % 7), during: 'waiting' } });
    const b = bench({
      jobs: [work],
      use: [
        {
          enqueue(call, next) {
            calls.push(call.count);
            return next();
          },
        },
      ],
    });
    const results = await b.client.enqueueMany(
      work,
      Array.from({ length: 450 }, (_, i) => i),
    );
    expect(results.filter((result) => result.ok && !result.duplicate)).toHaveLength(7);
    expect(await b.client.enqueue(work, 3)).toMatchObject({ duplicate: true });
    expect(calls).toEqual([450, 1]);
  });
});
