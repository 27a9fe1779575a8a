/** Queues with sessions, through the backend: what the laws do not see. */

import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, keyRing, startWorker } from '../../../core/index.ts';
import { type ServiceBusBackend, serviceBus } from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { eachWithServiceBus, message, minute, take } from './bus-kit.ts';

const bus = eachWithServiceBus();
/** What two workers share. */
let store: ReturnType<typeof memoryStore>;
const open = (rest: object = {}) => bus.open({ sessions: ['mail'], keys: store.keys, ...rest });

beforeEach(() => {
  store = memoryStore({ clock: bus.clock });
  bus.server.deleteQueue('mail');
  const settings = { lockMs: minute, duplicateWindowMs: 60 * minute, requiresSession: true };
  bus.server.createQueue('mail', settings);
});

const group = 'account-7';
async function put(backend: ServiceBusBackend, ...ids: string[]): Promise<void> {
  await backend.enqueue(ids.map((id) => message(id, { group })));
}
const body = (id: string): string => message(id).body;
async function one(backend: ServiceBusBackend, leaseMs = minute) {
  const [lease, ...others] = await take(backend, 10, leaseMs);
  expect(others).toEqual([]);
  return lease!;
}
const sessionsIn = (queue: string) =>
  bus.server
    .queue(queue)
    .peek(0, 100)
    .map(({ sent }) => sent.sessionId);

describe('a job without a group', () => {
  it('has a session of its own, and its retry too', async () => {
    const backend = open();
    await backend.enqueue([message('a'), message('b'), message('c', { group })]);
    expect(sessionsIn('mail')).toEqual(['a', 'b', group]);
    expect(await take(backend)).toHaveLength(3);
  });

  it('may have an id as long as they are', async () => {
    const backend = open();
    const id = 'x'.repeat(128);
    await backend.enqueue([
      message(id, { hints: { move: 'here' } }),
      message('b', { group: 'g'.repeat(256) }),
    ]);
    expect(await take(backend)).toHaveLength(2);
  });
});

describe('a group', () => {
  it('is held by the one who has its message, until that is settled', async () => {
    const [backend, peer] = [open(), open()];
    await put(backend, 'a', 'b', 'c');
    const first = await one(backend);
    expect([first.body, await take(backend), await take(peer)]).toEqual([body('a'), [], []]);
    expect(await backend.ack([{ lease: first }])).toEqual([true]);
    const second = await one(peer);
    expect(second.body).toBe(body('b'));
    expect(await peer.abandon(second, { reason: 'permanent', error: 'HANDLER: no' })).toBe(true);
    expect((await one(backend)).body).toBe(body('c'));
  });

  it('goes on while a failed one waits, which then comes after the others', async () => {
    const backend = open();
    await put(backend, 'a', 'b', 'c');
    await backend.nack(await one(backend), { delayMs: minute, countAttempt: true });
    expect(sessionsIn('mail')).toEqual([group, group, group]);
    await backend.ack([{ lease: await one(backend) }]);
    bus.clock.advance(minute);
    const [next] = [await one(backend)];
    expect(next.body).toBe(body('c'));
    await backend.ack([{ lease: next }]);
    expect(await one(backend)).toMatchObject({ body: body('a'), attempt: 2, interrupted: false });
  });

  it('keeps its order when its jobs are released, and that costs no attempt', async () => {
    const backend = open();
    await put(backend, 'a', 'b');
    for (let i = 0; i < 4; i++) {
      const lease = await one(backend);
      expect(lease).toMatchObject({ body: body('a'), attempt: 1, interrupted: false });
      expect(await backend.nack(lease, { delayMs: 0, countAttempt: false })).toBe(true);
    }
  });

  it('has what is released again and again at its end, before Service Bus gives it up', async () => {
    const backend = open();
    await put(backend, 'a', 'b');
    let seen = '';
    for (let i = 0; i < 8; i++) {
      const lease = await one(backend);
      expect([lease.attempt, lease.interrupted]).toEqual([1, false]);
      seen += lease.body === body('a') ? 'a' : 'b';
      await backend.nack(lease, { delayMs: 0, countAttempt: false });
    }
    expect(seen).toBe('aaaaaabb');
    expect(bus.server.bodies('mail/$DeadLetterQueue')).toEqual([]);
  });

  it('is released to its end where the store is away, and keeps its attempts', async () => {
    let away = false;
    const claim: typeof store.keys.claim = (...of) =>
      away ? Promise.reject(new Error('connect ECONNREFUSED')) : store.keys.claim(...of);
    const backend = open({ keys: { ...store.keys, claim } });
    await put(backend, 'a', 'b');
    const lease = await one(backend);
    away = true;
    await backend.nack(lease, { delayMs: 0, countAttempt: false });
    away = false;
    expect((await one(backend)).body).toBe(body('b'));
  });

  it('is still that of a dead letter that is retried', async () => {
    const backend = open();
    await put(backend, 'a');
    await backend.abandon(await one(backend), { reason: 'exhausted', error: 'HANDLER: no' });
    expect(await backend.admin!.deadLetters!.retry(['a'])).toBe(1);
    expect(sessionsIn('mail')).toEqual([group]);
    expect(await one(backend)).toMatchObject({ body: body('a'), attempt: 1 });
  });
});

describe('groups', () => {
  it('are asked for by all free slots at once, when one has come', async () => {
    const backend = open();
    const fetch = (max: number) => backend.fetch({ queues: ['mail'], max, leaseMs: minute, waitMs: minute });
    await put(backend, 'a');
    expect(await fetch(20)).toHaveLength(1);
    const queue = bus.server.queue('mail');
    const { acceptSession } = queue;
    const all = Promise.withResolvers<void>();
    let asked = 0;
    queue.acceptSession = () => {
      if (++asked === 19) all.resolve();
      return null;
    };
    const fetching = fetch(19);
    await all.promise; // none of them has had an answer
    queue.acceptSession = acceptSession;
    await backend.enqueue([message('b', { group: 'another' })]);
    expect(await fetching).toHaveLength(1);
  });

  it('that came too late for their call are given back, and no delivery is counted', async () => {
    const late = open();
    const fetch = (by: ServiceBusBackend, max: number) =>
      by.fetch({ queues: ['mail'], max, leaseMs: minute, waitMs: minute });
    await put(late, 'a');
    await fetch(late, 20);
    const fetching = fetch(late, 2);
    await late.enqueue([message('b', { group: 'b' })]);
    await fetching;
    await late.enqueue([message('c', { group: 'c' })]); // for the other request, whose call is over
    const [lease] = await fetch(open(), 1);
    expect(lease).toMatchObject({ body: body('c'), attempt: 1, interrupted: false });
  });
});

describe('a worker that is gone', () => {
  it('leaves its group to the next one when its lock ends, and settles nothing later', async () => {
    const frozen = createVirtualClock(); // its process stands still: it renews nothing
    const [stale, healthy] = [open({ clock: frozen }), open()];
    await put(stale, 'a', 'b');
    const lost = await one(stale, 60 * minute);
    bus.clock.advance(minute - 1);
    expect(await take(healthy)).toEqual([]);
    bus.clock.advance(1);
    const lease = await one(healthy);
    expect(lease).toMatchObject({ body: body('a'), attempt: 2, interrupted: true });
    expect(await stale.renew([lost], minute)).toEqual([false]);
    expect(await stale.ack([{ lease: lost }])).toEqual([false]);
    expect(await stale.nack(lost, { delayMs: 0, countAttempt: true })).toBe(false);
    expect(await stale.nack(lost, { delayMs: 0, countAttempt: false })).toBe(false);
    expect(await stale.abandon(lost, { reason: 'permanent', error: 'HANDLER: no' })).toBe(false);
    expect(bus.server.bodies('mail')).toEqual([body('a'), body('b')]);
    expect(await healthy.ack([{ lease }])).toEqual([true]);
    expect((await one(healthy)).body).toBe(body('b'));
  });

  it.each(['ack', 'nack', 'abandon'] as const)(
    'settles nothing by %s that it begins too late',
    async (verb) => {
      const stale = open({ clock: createVirtualClock() });
      await put(stale, 'a');
      const lost = await one(stale, 60 * minute);
      bus.clock.advance(minute); // the link is being closed while the verb begins
      const settled = {
        ack: () => stale.ack([{ lease: lost }]).then(([done]) => done),
        nack: () => stale.nack(lost, { delayMs: 0, countAttempt: true }),
        abandon: () => stale.abandon(lost, { reason: 'permanent', error: 'HANDLER: no' }),
      };
      expect(await settled[verb]()).toBe(false);
      expect(await one(open())).toMatchObject({ body: body('a'), attempt: 2 });
    },
  );

  it('loses its leases with its connection, and goes on with another one', async () => {
    const backend = open({ timeoutMs: 1_000 });
    await put(backend, 'a', 'b');
    const lost = await one(backend);
    bus.server.dropConnections();
    let again: Awaited<ReturnType<typeof one>> | undefined;
    // A call that was begun too early fails, and the next one takes another connection.
    for (let i = 0; i < 3 && !again; i++) [again] = await take(backend).catch(() => []);
    expect(again).toMatchObject({ body: body('a'), attempt: 2, interrupted: true });
    expect(await backend.ack([{ lease: lost }])).toEqual([false]);
    expect(await backend.ack([{ lease: again! }])).toEqual([true]);
  });

  it('is counted, though Service Bus counts nothing when it frees the session', async () => {
    await put(open(), 'a', 'b');
    for (const attempt of [1, 2, 3]) {
      const lease = await one(open());
      expect(lease).toMatchObject({ body: body('a'), attempt, interrupted: attempt > 1 });
      bus.server.dropConnections();
    }
    expect(bus.server.queue('mail').peek(0, 1)[0]!.deliveryCount).toBe(0);
  });

  it('between the copy and the end of its message leaves one job', async () => {
    const dies = open();
    await put(dies, 'a');
    const lease = await one(dies);
    const queue = bus.server.queue('mail');
    const { send } = queue;
    queue.send = (...given) => {
      setImmediate(bus.server.dropConnections); // the copy is there, and its sender never hears of it
      return send(...given);
    };
    await dies.nack(lease, { delayMs: 0, countAttempt: true }).catch(() => {});
    expect(bus.server.bodies('mail')).toEqual([body('a'), body('a')]);
    queue.send = send;
    const next = open();
    const found = [...(await take(next)), ...(await take(next))];
    expect(found).toMatchObject([{ body: body('a'), attempt: 2, interrupted: false }]);
    expect(await next.ack([{ lease: found[0]! }])).toEqual([true]);
    expect(bus.server.bodies('mail')).toEqual([]);
  });

  it('keeps its group as long as it renews, whatever the lock of the queue', async () => {
    const [backend, peer] = [open(), open()];
    await put(backend, 'a', 'b');
    const lease = await one(backend, 5 * minute);
    for (let i = 0; i < 9; i++) {
      bus.clock.advance(minute / 2);
      await backend.renew([lease], 5 * minute); // a round trip, in which the lock was renewed too
    }
    expect(await take(peer)).toEqual([]);
    expect(await backend.ack([{ lease }])).toEqual([true]);
  });
});

describe('an app', () => {
  const signing = keyRing([{ kid: 'test', secret: new Uint8Array(32).fill(5) }]);
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  afterEach(() => {
    ran.length = 0;
    most = 0;
  });
  const job = defineJob({
    name: 'book',
    queue: 'mail',
    payload: z.object({ of: z.string() }),
    retry: fixed(1),
    async handle({ of }) {
      ran.push(of);
      most = Math.max(most, ++running);
      await turn();
      running--;
    },
  });
  const appOf = (order: unknown) =>
    createApp({ jobs: [job], queues: { mail: { order } as never }, signing, clock: bus.clock });
  const stepAside = { by: 'group', onRetry: 'step-aside' };

  it('runs the jobs of each group in order, and groups beside one another', async () => {
    const backend = open();
    const app = appOf(stepAside);
    const client = connect(app, backend, { store });
    for (let i = 0; i < 5; i++)
      for (const of of ['a', 'b', 'c']) await client.enqueue(job, { of: `${of}${i}` }, { group: of });
    await startWorker(app, { backend, store, concurrency: 5, untilIdle: true }).done;
    const each = Map.groupBy(ran, ([of]) => of!);
    for (const [of, seen] of each) expect(seen).toEqual([0, 1, 2, 3, 4].map((i) => `${of}${i}`));
    expect([each.size, most > 1]).toEqual([3, true]);
  });

  it('may order a queue that has sessions, where the others step aside', () => {
    const backend = open();
    expect(connect(appOf(stepAside), backend, { store }).backend.name).toBe('servicebus');
    expect(() => connect(appOf('group'), backend, { store })).toThrow(
      /\(on a retry: wait\), which backend "servicebus" does not support\. Set onRetry: 'step-aside'/,
    );
    const without = open({ sessions: [] });
    expect(() => connect(appOf(stepAside), without, { store })).toThrow(/Leave order out/);
  });
});

describe('a store that is away', () => {
  it('is told as itself, costs no delivery and leaves the group to others', async () => {
    const claim = () => Promise.reject(new Error('connect ECONNREFUSED'));
    const backend = open({ keys: { ...store.keys, claim } });
    await put(backend, 'a');
    await expect(take(backend)).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(/^The store of keys failed.*ECONNREFUSED/),
    });
    expect(await one(open())).toMatchObject({ attempt: 1, interrupted: false });
    expect(bus.server.queue('mail').peek(0, 1)[0]!.deliveryCount).toBe(0);
  });

  it('that is none is refused: nothing would count the jobs that kill their process', async () => {
    const backend = open({ keys: undefined });
    await put(backend, 'a');
    await expect(take(backend)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/^Expected serviceBus\(\) to have keys, because mail has sessions/),
    });
  });
});

describe('options', () => {
  it.each([
    ['ledger', /^Expected sessions to be names of the app's queues, like \['ledger'\], got "ledger"/],
    [[7], /^Expected sessions to be names/],
    [['other'], /^Expected queue "other" to be among those given to serviceBus/],
  ])('%j is refused', (sessions, text) => {
    const { connectionString } = bus.server;
    expect(() => serviceBus({ connectionString, queues: ['mail'], sessions } as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(text) }),
    );
  });
});

it('that requires no sessions says so', async () => {
  bus.server.deleteQueue('mail');
  bus.server.createQueue('mail', { duplicateWindowMs: minute });
  await expect(take(open())).rejects.toMatchObject({
    code: 'CONFIG',
    message: expect.stringMatching(/has no sessions, .*leave it out of sessions/i),
  });
});

it('that requires sessions says so to one who does not know', async () => {
  const backend = bus.open();
  for (const work of [() => take(backend), async () => (await backend.enqueue([message('a')]))[0]]) {
    const failure = await work().then(
      (result) => (result as { error?: Error }).error,
      (error: Error) => error,
    );
    expect(failure).toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/requires sessions.*Name it in sessions/),
    });
  }
});
