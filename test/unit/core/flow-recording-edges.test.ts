/** What must not be written, what must not depend on writing, and in which order things happen. */

import { describe, expect, it, vi } from 'vitest';
import { LongshoreError, PermanentError } from '../../../core/base/errors.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { envelope, job } from './kit.ts';
import { recordingBench, withWriter } from './recording-kit.ts';

const put = (body: string, queue = 'default') => ({
  ...{ id: `put in ${queue}`, queue, job: 'work', body, priority: 5 },
  ...{ notBefore: null, group: null, tenantId: null },
});

/** Each ends its attempt with another verb. */
const ends = {
  ack: () => 'done',
  nack: () => Promise.reject(new Error('later')),
  abandon: () => Promise.reject(new PermanentError('never')),
};
type Verb = keyof typeof ends;

describe('a message that is not the job’s own', () => {
  it('leaves the record alone when it is a copy in another queue', async () => {
    const one = job();
    const t = recordingBench({ jobs: [one] });
    const { id } = await t.client.enqueue(one, {});
    const before = await t.record(id);
    const run = await t.take();
    await t.backend.enqueue([put(run.lease.body, 'other')]);
    expect(await t.run(await t.take(60_000, 'other'))).toMatchObject({ id, outcome: 'rejected' });
    expect(await t.record(id)).toEqual(before);
  });

  it('leaves the record alone when it is forged', async () => {
    const one = job();
    const t = recordingBench({ jobs: [one] });
    const { id } = await t.client.enqueue(one, {});
    const before = await t.record(id);
    await t.take(); // the real one is under way
    const forged = envelope({ identifier: id }).replace('"maxRetries":3', '"maxRetries":9');
    await t.backend.enqueue([put(forged)]);
    expect((await t.next()).outcome).toBe('rejected');
    expect(await t.record(id)).toEqual(before);
  });
});

describe('the sending side', () => {
  it('records what the queue has taken, and only that', async () => {
    const one = job();
    const t = recordingBench({
      jobs: [one],
      queue: (queue) => ({
        ...queue,
        async enqueue(messages) {
          const error = new LongshoreError('BACKEND', 'no room');
          const [first, ...rest] = await queue.enqueue(messages);
          return [first!, ...rest.map(({ id }) => ({ ok: false as const, id, error }))];
        },
      }),
    });
    const results = await t.client.enqueueMany(one, [1, 2]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false]);
    expect((await t.stores.records.page({})).records.map(({ id }) => id)).toEqual(['id-1']);
  });

  it('records nothing when the queue cannot be reached', async () => {
    const one = job();
    const enqueue = () => Promise.reject(new LongshoreError('BACKEND', 'away'));
    const t = recordingBench({ jobs: [one], queue: (queue) => ({ ...queue, enqueue }) });
    await expect(t.client.enqueue(one, {})).rejects.toThrow('away');
    expect((await t.stores.records.page({})).records).toEqual([]);
  });

  it('leaves a job of a transaction to its first attempt, because it may never come to be', async () => {
    const one = job();
    const t = recordingBench({
      jobs: [one],
      queue: (queue) => ({ ...queue, enqueueIn: (_, messages) => queue.enqueue(messages) }),
    });
    const tx = { query: async () => ({ rows: [] }) };
    await t.client.enqueue(one, {}, { tx, context: { tenantId: 'acme' } });
    expect(await t.client.status('id-1')).toBeNull();
    await t.next();
    expect(await t.record()).toMatchObject({ status: 'completed', tenantId: 'acme' });
  });

  it('may report after the job has ended', async () => {
    const one = job();
    let late: (() => Promise<void>) | null = null;
    const t = recordingBench({
      jobs: [one],
      store: (stores) =>
        withWriter(stores, ({ enqueued }) => ({
          async enqueued(jobs) {
            late = () => enqueued(jobs);
          },
        })),
    });
    await t.client.enqueue(one, {});
    await t.next();
    await late!();
    expect(await t.record()).toMatchObject({ status: 'completed' });
  });

  it('closes the store that it was given', async () => {
    let closed = 0;
    const t = recordingBench({ store: (stores) => ({ ...stores, close: async () => void closed++ }) });
    await t.client.close();
    expect(closed).toBe(1);
  });
});

describe('a job that was cancelled while it waited', () => {
  it('does not run, is no dead letter, and gives its key up', async () => {
    let runs = 0;
    const one = job({ idempotencyKey: () => 'k', handle: () => void runs++ });
    const t = recordingBench({ jobs: [one] });
    await t.client.enqueue(one, {});
    expect(await t.client.cancel('id-1')).toBe('cancelled');
    const before = await t.record();
    t.clock.advance(1_000);
    expect(await t.next()).toMatchObject({ outcome: 'rejected', reason: 'cancelled', settled: true });
    expect(runs).toBe(0);
    expect(await t.record()).toEqual(before);
    expect(await t.backend.admin!.deadLetters.list({})).toEqual([]);
    expect(t.events.map(({ type }) => type)).toEqual(['job.enqueued', 'job.settled']);
    const { keys } = t.client.stores;
    expect((await keys.claim('job:work:k', 'next', t.clock.now() + 1)).state).toBe('claimed');
  });

  it('runs when nobody can tell', async () => {
    let runs = 0;
    const one = job({ handle: () => void runs++ });
    const away = { started: () => Promise.reject(new Error('away')) };
    const t = recordingBench({ jobs: [one], store: (stores) => withWriter(stores, () => away) });
    await t.client.enqueue(one, {});
    await t.client.cancel('id-1');
    t.clock.advance(1);
    expect((await t.next()).outcome).toBe('acked');
    expect(runs).toBe(1);
    expect(await t.record()).toMatchObject({ status: 'completed' });
  });
});

describe('a worker that dies while it settles', () => {
  const never = new Promise<never>(() => {});
  /** As far as the queue is concerned; after that nothing of this worker happens any more. */
  const dying = (verb: Verb, told: boolean) => (queue: QueueBackend) => {
    const last = async (...args: never[]) => {
      if (told) await (queue[verb] as (...args: never[]) => Promise<unknown>)(...args);
      return never;
    };
    return { ...queue, [verb]: last };
  };

  it.each([
    ['ack', 'completed'],
    ['nack', 'retrying'],
    ['abandon', 'failed'],
  ] as const)('after the queue has taken its %s leaves the record %s', async (verb, status) => {
    const one = job({ handle: ends[verb] });
    const t = recordingBench({ jobs: [one], settler: dying(verb, true) });
    await t.client.enqueue(one, {});
    void t.next();
    await vi.waitFor(async () => expect(await t.record()).toMatchObject({ status }));
    const [stats] = await t.backend.admin!.stats('default');
    expect(stats).toMatchObject({ leased: 0, dead: verb === 'abandon' ? 1 : 0 });
    expect((await t.record()).attempts).toHaveLength(1);
  });

  it.each(['ack', 'nack', 'abandon'] as const)(
    'before the queue was told of its %s leaves a record that follows the next attempt',
    async (verb) => {
      let ending = ends[verb];
      let seen: unknown = null;
      const one = job({
        async handle() {
          seen = (await t.record()).status;
          return ending();
        },
      });
      const t = recordingBench({ jobs: [one], settler: dying(verb, false) });
      await t.client.enqueue(one, {});
      void t.next();
      await vi.waitFor(async () => expect((await t.record()).status).not.toMatch(/^(pending|processing)$/));
      t.clock.advance(60_000);
      ending = ends.ack;
      const other = { client: t.client, settler: t.backend };
      expect(await attempt(t.app, other, await t.take())).toMatchObject({ outcome: 'acked', attempt: 2 });
      expect(seen).toBe('processing');
      const { status, finishedAt, reason, attempts } = await t.record();
      expect({ status, finishedAt, reason }).toEqual({
        status: 'completed',
        finishedAt: t.clock.now(),
        reason: null,
      });
      expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    },
  );
});

describe('an attempt', () => {
  it('completes its key, then records its end, then acks', async () => {
    const order: string[] = [];
    const noted = <T extends unknown[], R>(name: string, call: (...args: T) => R) => {
      return (...args: T): R => {
        order.push(name);
        return call(...args);
      };
    };
    const one = job({ idempotencyKey: () => 'k', handle: () => void order.push('handle') });
    const t = recordingBench({
      jobs: [one],
      queue: (queue) => ({ ...queue, ack: noted('ack', queue.ack) }),
      store: (stores) => {
        const { started, settled } = stores.records.writer!;
        const { claim, complete } = stores.keys;
        const keys = { claim: noted('claim', claim), complete: noted('complete', complete) };
        const writer = { started: noted('started', started), settled: noted('settled', settled) };
        return { ...withWriter(stores, () => writer), keys: { ...stores.keys, ...keys } };
      },
    });
    await t.client.enqueue(one, {});
    await t.next();
    expect(order).toEqual(['claim', 'started', 'handle', 'complete', 'settled', 'ack']);
  });

  it('that completed its key and could not ack is completed, and skipped when it comes again', async () => {
    let runs = 0;
    let failures = 1;
    const one = job({ idempotencyKey: () => 'k', handle: () => ++runs });
    const t = recordingBench({
      jobs: [one],
      settler: (queue) => ({
        ...queue,
        ack: (acks) => (failures-- > 0 ? Promise.reject(new Error('away')) : queue.ack(acks)),
      }),
    });
    await t.client.enqueue(one, {});
    await expect(t.next()).rejects.toThrow('away');
    expect(await t.record()).toMatchObject({ status: 'completed', output: 1 });
    t.clock.advance(60_000);
    expect((await t.next()).outcome).toBe('skipped-idempotent');
    expect(await t.record()).toMatchObject({ status: 'completed', output: 1 });
    expect(runs).toBe(1);
  });

  it('that lost its key to another owner acks nothing and records nothing', async () => {
    const one = job({ idempotencyKey: () => 'k' });
    const t = recordingBench({
      jobs: [one],
      store: (stores) => ({ ...stores, keys: { ...stores.keys, complete: async () => false } }),
    });
    await t.client.enqueue(one, {});
    expect(await t.next()).toMatchObject({ settled: false });
    expect(await t.record()).toMatchObject({ status: 'processing', attempts: [] });
  });

  it('that lost its lease leaves the record to the one that has it', async () => {
    let owner: Run | null = null;
    const one = job({
      async handle() {
        if (owner) return;
        t.clock.advance(1_000);
        owner = await t.take();
      },
    });
    const t = recordingBench({ jobs: [one] });
    await t.client.enqueue(one, {});
    const stale = await t.take(1_000);
    expect(await t.run(stale)).toMatchObject({ settled: false });
    expect((await t.run(owner!)).settled).toBe(true);
    const { status, attempts } = await t.record();
    expect(status).toBe('completed');
    expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'interrupted'],
      [2, 'acked'],
    ]);
  });

  it.each([
    ['ack', 'completed'],
    ['nack', 'retrying'],
    ['abandon', 'failed'],
  ] as const)(
    'that settles while its renewal is still to be answered leaves the record %s',
    async (verb, status) => {
      const one = job({
        async handle(): Promise<string> {
          expect(await t.backend.renew([run.lease], 60_000)).toEqual([true]);
          t.clock.advance(1_000); // past the end that the worker knows of
          return ends[verb]();
        },
      });
      const t = recordingBench({ jobs: [one] });
      await t.client.enqueue(one, {});
      const run: Run = await t.take(1_000);
      expect(await t.run(run)).toMatchObject({ settled: true });
      expect(await t.record()).toMatchObject({ status });
    },
  );

  it('writes no record where the queue keeps its own', async () => {
    const one = job();
    const t = recordingBench({ jobs: [one], ownRecords: true });
    expect(t.client.stores.records.writer).toBeUndefined();
    await t.client.enqueue(one, {});
    const run = await t.take();
    await t.run(run);
    expect(run.recording).toBeNull();
  });

  it('writes to the store that it was given, also where the queue keeps records of its own', async () => {
    const one = job();
    const t = recordingBench({ jobs: [one], ownRecords: true });
    const store = memoryStore({ clock: t.clock });
    const client = connect(t.app, t.backend, { store });
    await client.enqueue(one, {});
    await attempt(t.app, { client, settler: t.backend }, await t.take());
    expect(await store.records.get('id-1')).toMatchObject({ status: 'completed' });
  });
});
