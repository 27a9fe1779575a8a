/** A job that replaces the one that waits under its key, and debounce, which does so after a pause. */

import { describe, expect, it } from 'vitest';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { Debounce, Unique } from '../../../core/kernel/app/unique.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bench, job, ring } from './kit.ts';

const replacing = (time: Unique['during'] = 'waiting', key = 'k'): EnqueueOptions => ({
  unique: { key, during: time, onConflict: 'replace' },
});
const debounced = (rest: Partial<Debounce> = {}): EnqueueOptions => ({
  debounce: { key: 'k', waitMs: 1_000, ...rest },
});

function start() {
  const ran: unknown[] = [];
  let failing = false;
  const work = job({
    handle(payload) {
      if (failing) throw new Error('down');
      ran.push(payload);
    },
  });
  const b = bench({ jobs: [work] });
  const count = async () => {
    const [stats] = await b.backend.admin!.stats('default');
    return [stats!.ready, stats!.delayed];
  };
  return {
    ...b,
    ran,
    work,
    count,
    fail: (does: boolean) => {
      failing = does;
    },
    add: (payload: unknown, options: EnqueueOptions) => b.client.enqueue(work, payload, options),
  };
}

describe('onConflict: replace', () => {
  it('gives the job that waits the payload, delay and priority of the last call', async () => {
    const b = start();
    const { id } = await b.add(1, { ...replacing(), delayMs: 60_000 });
    const context = { requestId: 'r-2' };
    expect(await b.add(2, { ...replacing(), delayMs: 5_000, priority: 'high', context })).toEqual({
      id,
      queue: 'default',
      duplicate: true,
    });
    expect(await b.client.status(id)).toMatchObject({ priority: 2, requestId: 'r-2', status: 'pending' });
    expect(await b.count()).toEqual([0, 1]);
    b.clock.advance(5_000);
    const run = await b.take();
    const { payload, identifier, priority } = readEnvelope(run.lease.body, {
      ring,
      now: b.clock.now(),
      maxBytes: 9e9,
    });
    expect({ payload, identifier, priority }).toEqual({ payload: 2, identifier: id, priority: 2 });
    expect((await b.run(run)).outcome).toBe('acked');
    expect(b.ran).toEqual([2]);
  });

  it('makes a job that is delayed ready, where the call has no delay', async () => {
    const b = start();
    await b.add(1, { ...replacing(), delayMs: 60_000 });
    await b.add(2, replacing());
    expect(await b.count()).toEqual([1, 0]);
  });

  it('keeps the attempts of a job that is to be tried again', async () => {
    const b = start();
    b.fail(true);
    const { id } = await b.add(1, replacing());
    await b.next();
    b.fail(false);
    expect(await b.add(2, replacing())).toMatchObject({ id, duplicate: true });
    await b.next();
    expect(b.ran).toEqual([2]);
    expect((await b.client.status(id))?.attempts).toHaveLength(2);
  });

  it.each([
    ['waiting', false],
    ['running', true],
    ['either', true],
    [{ forMs: 60_000 }, true],
  ] as const)('leaves a job alone that runs (%j)', async (time, duplicate) => {
    const b = start();
    const { id } = await b.add(1, replacing(time));
    const run = await b.take();
    const second = await b.add(2, replacing(time));
    expect([second.id === id, second.duplicate ?? false]).toEqual([duplicate, duplicate]);
    await b.run(run);
    expect(b.ran).toEqual([1]);
  });

  it.each([
    ['waiting', false],
    ['either', true],
  ] as const)('sees a job that begins in this very moment (%s)', async (time, duplicate) => {
    const b = start();
    const { pending } = b.backend;
    const client = connect(b.app, {
      ...b.backend,
      pending: {
        ...pending!,
        async change(...call) {
          await b.take();
          return pending!.change(...call);
        },
      },
    });
    const { id } = await client.enqueue(b.work, 1, replacing(time));
    const second = await client.enqueue(b.work, 2, replacing(time));
    expect([second.id === id, second.duplicate ?? false]).toEqual([duplicate, duplicate]);
  });

  it('does not begin the time of a throttle anew', async () => {
    const b = start();
    await b.add(1, { ...replacing({ forMs: 10_000 }), delayMs: 60_000 });
    b.clock.advance(6_000);
    expect(await b.add(2, { ...replacing({ forMs: 10_000 }), delayMs: 60_000 })).toHaveProperty('duplicate');
    b.clock.advance(4_000);
    expect(await b.add(3, replacing({ forMs: 10_000 }))).not.toHaveProperty('duplicate');
    await b.next();
    b.clock.advance(60_000);
    await b.next();
    expect(b.ran).toEqual([3, 2]);
  });

  it('lets the last of a list count, and sends it once', async () => {
    const b = start();
    const item = (payload: unknown, key = 'k') => ({
      job: b.work,
      payload,
      options: replacing('waiting', key),
    });
    const results = await b.client.enqueueMany([item(1), item('x', 'x'), item(2), item(3)]);
    expect(results.map((result) => result.ok && result.duplicate)).toEqual([false, false, true, true]);
    expect(new Set(results.map(({ id }) => id)).size).toBe(2);
    await b.next();
    await b.next();
    expect(b.ran).toEqual([3, 'x']);
    expect(await b.count()).toEqual([0, 0]);
  });

  it('keeps a large payload beside the queue, and nothing of a job that another one stands for', async () => {
    const b = start();
    const stored = new Map<string, Uint8Array>();
    const payloads = {
      put: async (key: string, bytes: Uint8Array) => void stored.set(key, bytes),
      get: async (key: string) => stored.get(key) ?? null,
      delete: async (key: string) => void stored.delete(key),
    };
    const backend = memory({ clock: b.clock, maxBodyBytes: 2_000 });
    const client = connect(b.app, backend, { store: { payloads } });
    const [one, two, three] = ['a', 'b', 'c'].map((letter) => letter.repeat(5_000));
    const { id } = await client.enqueue(b.work, one, replacing());
    expect(await client.enqueue(b.work, two, replacing())).toHaveProperty('duplicate');
    const keys = [...stored.keys()];
    expect(keys.map((key) => key.startsWith(id))).toEqual([true, true]);
    await client.enqueue(b.work, three, { unique: { key: 'k', during: 'waiting' } });
    expect([...stored.keys()]).toEqual(keys);
    const list = [one, two].map((payload) => ({
      job: b.work,
      payload,
      options: replacing('waiting', 'other'),
    }));
    await client.enqueueMany(list);
    expect(stored.size).toBe(3);
  });
});

describe('debounce', () => {
  it('runs one job, so long after the last call, with its payload', async () => {
    const b = start();
    const { id } = await b.add(1, debounced());
    expect(await b.count()).toEqual([0, 1]);
    for (const payload of [2, 3]) {
      b.clock.advance(999);
      expect(await b.add(payload, debounced())).toEqual({ id, queue: 'default', duplicate: true });
    }
    b.clock.advance(999);
    expect(await b.backend.fetch({ queues: ['default'], max: 1, leaseMs: 1, waitMs: 0 })).toEqual([]);
    b.clock.advance(1);
    await b.next();
    expect(b.ran).toEqual([3]);
    expect(await b.count()).toEqual([0, 0]);
  });

  it('waits no longer than maxWaitMs after the first call', async () => {
    const b = start();
    const options = debounced({ maxWaitMs: 2_500 });
    for (const payload of [1, 2, 3, 4]) {
      await b.add(payload, options);
      b.clock.advance(800);
    }
    await b.next();
    expect(b.ran).toEqual([4]);
  });

  it('gives a job that is overdue the last payload, and does not make it wait again', async () => {
    const b = start();
    await b.add(1, debounced({ maxWaitMs: 2_000 }));
    b.clock.advance(10_000);
    await b.add(2, debounced({ maxWaitMs: 2_000 }));
    await b.next();
    expect(b.ran).toEqual([2]);
  });

  it('begins anew when the job has begun', async () => {
    const b = start();
    const { id } = await b.add(1, debounced({ maxWaitMs: 1_500 }));
    b.clock.advance(1_000);
    const run = await b.take();
    const second = await b.add(2, debounced({ maxWaitMs: 1_500 }));
    expect(second.id).not.toBe(id);
    expect(second).not.toHaveProperty('duplicate');
    await b.run(run);
    b.clock.advance(999);
    await b.add(3, debounced({ maxWaitMs: 1_500 }));
    b.clock.advance(501);
    await b.next();
    expect(b.ran).toEqual([1, 3]);
  });

  it('of a job is counted by its own key; null is none', async () => {
    const ran: unknown[] = [];
    const one = job({
      debounce: { key: (payload: { doc: string | null }) => payload.doc, waitMs: 500 },
      handle: (payload) => void ran.push(payload),
    });
    const b = bench({ jobs: [one] });
    for (const doc of ['a', 'b', 'a', null]) await b.client.enqueue(one, { doc });
    await b.next(); // the one without a key does not wait
    b.clock.advance(500);
    await b.next();
    await b.next();
    expect(ran).toEqual([{ doc: null }, { doc: 'a' }, { doc: 'b' }]);
    expect(await b.backend.admin!.stats('default')).toMatchObject([{ ready: 0, delayed: 0 }]);
  });
});
