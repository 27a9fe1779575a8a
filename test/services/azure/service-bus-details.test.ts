/** The backend, closer than the laws look. */

import { ServiceBusClient } from '@azure/service-bus';
import { describe, expect, it } from 'vitest';
import type { QueueAdmin } from '../../../core/contract/admin.ts';
import { type ServiceBusBackend, serviceBus } from '../../../functions/azure/index.ts';
import { tagsOf } from '../../../functions/azure/service-bus/message.ts';
import { createMessageMetadata } from '../../../functions/azure/service-bus/metadata.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { until } from '../../kit/until.ts';
import { eachWithServiceBus, message, minute, take } from './bus-kit.ts';

const bus = eachWithServiceBus();
const { open } = bus;

describe('a process that is busy', () => {
  it('loses no message that arrives while a look ends', async () => {
    const backend = open();
    const queue = bus.server.queue('mail');
    const { take: takeOne } = queue;
    let asked = 0;
    Object.assign(queue, {
      take() {
        // The first flow gives credit; the second one asks for what is left, and is answered when there is time again.
        if (++asked === 2) {
          bus.server.write('mail', 'late');
          for (const end = Date.now() + 400; Date.now() < end; );
        }
        return takeOne();
      },
    });
    const leases = [...(await take(backend)), ...(await take(backend))];
    expect(leases.map(({ body }) => body)).toEqual(['late']);
    expect(
      await backend.ack(leases.map((lease) => ({ lease }))),
      'on a link that is gone it would take longer than this test',
    ).toEqual([true]);
  });
});

it('releases a message whose neighbour is completed at the same moment', async () => {
  const backend = open();
  await backend.enqueue([message('a'), message('b')]);
  const [a] = await take(backend, 1, minute);
  const [b] = await take(backend, 1, minute / 2);
  await Promise.all([backend.ack([{ lease: a! }]), bus.clock.advance(minute / 2)]);
  expect((await take(backend)).map(({ body }) => body)).toEqual([b!.body]);
  expect(bus.server.bodies('mail')).toEqual([b!.body]);
});

describe('the intent log', () => {
  const key = 'servicebus-moved:mail:a';
  const intent = { attempts: 4, interrupted: false, notBefore: null };

  it('has the copy sent again that another worker began', async () => {
    const { keys } = memoryStore({ clock: bus.clock });
    const backend = open({ keys });
    await backend.enqueue([message('a')]);
    expect(await take(backend)).toHaveLength(1);
    await keys.claim(key, 'earlier', bus.clock.now() + minute);
    const done = { value: JSON.stringify(intent), keepUntil: bus.clock.now() + 60 * minute };
    await keys.complete(key, 'earlier', done);
    bus.clock.advance(minute);
    const leases = [...(await take(backend)), ...(await take(backend))];
    expect(leases).toMatchObject([{ body: message('a').body, attempt: 5 }]);
  });

  it('keeps the first intent of a message, as earlier versions read it', async () => {
    const { keys } = memoryStore({ clock: bus.clock });
    const log = createMessageMetadata(keys, bus.clock).intents;
    const tags = tagsOf({}, 'a', null);
    await log.write('mail', tags, intent);
    await log.write('mail', tags, { ...intent, attempts: 5 });
    expect(await log.read('mail', tags)).toEqual(intent);
    const found = await keys.claim(key, 'test', bus.clock.now() + minute);
    expect(found).toEqual({ state: 'completed', value: JSON.stringify(intent) });
  });
});

describe('a store that is away', () => {
  const keys = {
    ...memoryStore().keys,
    claim: () => Promise.reject(new Error('connect ECONNREFUSED')),
  };
  const lease = async (backend: ServiceBusBackend) => {
    await backend.enqueue([message('a')]);
    return (await take(backend))[0]!;
  };

  it('does not keep a job from being released', async () => {
    const backend = open({ keys });
    expect(await backend.nack(await lease(backend), { delayMs: 0, countAttempt: false })).toBe(true);
    expect((await take(backend)).map(({ attempt }) => attempt)).toEqual([1]);
  });

  it('keeps a failed attempt from being settled, because a copy without a note might run twice', async () => {
    const backend = open({ keys });
    await expect(backend.nack(await lease(backend), { delayMs: 0, countAttempt: true })).rejects.toThrow(
      /ECONNREFUSED/,
    );
    expect(bus.server.bodies('mail')).toHaveLength(1);
  });
});

describe('serviceBus()', () => {
  it.each([
    ['nothing', {}, /got neither/],
    ['two ways in', { connectionString: 'Endpoint=sb://x/;', fullyQualifiedNamespace: 'x.y' }, /got both/],
    [
      'a namespace without a credential',
      { fullyQualifiedNamespace: 'shop.servicebus.windows.net' },
      /credential/,
    ],
    ['a text that is none', { connectionString: 'shop.servicebus.windows.net' }, /Endpoint=sb/],
    [
      'a queue that Service Bus cannot have',
      { connectionString: 'Endpoint=sb://x/;', queues: { mail: '' } },
      /allows/,
    ],
    ['a number for queues', { connectionString: 'Endpoint=sb://x/;', queues: 7 }, /queues of serviceBus/],
    ['a short poll', { connectionString: 'Endpoint=sb://x/;', longPollMs: 10 }, /longPollMs/],
  ])('refuses %s', (_, options, text) => {
    expect(() => serviceBus(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(text) }),
    );
  });

  it('connects to nothing before it is used, and may be closed unused', async () => {
    const nowhere = serviceBus({
      connectionString: 'Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=a;SharedAccessKey=b',
    });
    await nowhere.close();
  });

  it('says which queue is missing, and which right', async () => {
    const backend = open({ queues: ['mail', 'none'] });
    await expect(backend.enqueue([message('a', { queue: 'none' })])).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/queue "none".*does not exist/),
    });
    await expect(backend.check(['none'])).rejects.toMatchObject({ code: 'CONFIG' });
    await backend.check(['mail']);
    await expect(backend.enqueue([message('a', { queue: 'unknown' })])).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/among those given to serviceBus\(\), which are mail, none/),
    });
  });

  it('says where the right to send is missing, before a job needs it', async () => {
    bus.server.createQueue('mail-failed', { maySend: false });
    const backend = open();
    const refused = {
      code: 'CONFIG',
      message: expect.stringMatching(/"mail-failed".*'Send' claim.*Grant it/),
    };
    await expect(backend.check()).rejects.toMatchObject(refused);
    await expect(backend.checkFailed('mail')).rejects.toMatchObject(refused);
  });

  it('warns once of a job whose priority it cannot keep, and sends it', async () => {
    const backend = open();
    const warnings: string[] = [];
    backend.onWarning!((warning) => warnings.push(warning));
    const urgent = ['b', 'c'].map((id) => message(id, { priority: 2 }));
    const results = await backend.enqueue([message('a'), ...urgent]);
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(warnings).toEqual([
      expect.stringMatching(/no priorities: job "mail\.send" has priority 2.*queue of their own\.$/),
    ]);
  });

  it('answers per queue where one of two is missing', async () => {
    const backend = open({ queues: ['mail', 'none'] });
    const results = await backend.enqueue([message('a'), message('b', { queue: 'none' })]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false]);
  });

  it('fails with BACKEND where nobody answers', async () => {
    const { connectionString } = bus.server;
    await bus.server.stop();
    await expect(open({ connectionString, timeoutMs: 1_000 }).enqueue([message('a')])).rejects.toMatchObject({
      code: 'BACKEND',
    });
  });

  it('goes on after its connections were cut, with the leases it has', async () => {
    // What was under way when a connection went is noticed by its timeout only.
    const backend = open({ maxRetries: 3, timeoutMs: 1_000 });
    await backend.enqueue([message('a'), message('b')]);
    const [a, b] = await take(backend);
    bus.server.dropConnections();
    expect(await backend.ack([{ lease: a! }])).toEqual([true]);
    bus.server.dropConnections();
    expect(await backend.nack(b!, { delayMs: 0, countAttempt: true })).toBe(true);
    bus.server.dropConnections();
    expect((await backend.enqueue([message('c')]))[0]).toMatchObject({ ok: true });
    const bodies = [...(await take(backend)), ...(await take(backend))].map(({ body, attempt }) => [
      body,
      attempt,
    ]);
    expect(bodies.sort()).toEqual([
      ['{"id":"b"}', 2],
      ['{"id":"c"}', 1],
    ]);
  });

  it('takes a job that comes back from another queue within the window of duplicates', async () => {
    const backend = open();
    for (const move of [{}, { hints: { move: 'move-1' } }, { hints: { move: 'move-2' } }]) {
      await backend.enqueue([message('m1', move)]);
      const [lease] = await take(backend);
      expect(lease).toMatchObject({ body: '{"id":"m1"}', attempt: 1 });
      expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    }
    await backend.enqueue([message('m1')]);
    expect(await take(backend), 'a copy').toEqual([]);
  });

  it('sends what does not fit into one batch in several, scheduled ones among them', async () => {
    const backend = open();
    const later = bus.clock.now() + minute;
    const messages = Array.from({ length: 9 }, (_, i) =>
      message(`m${i}`, { body: `${i}${'x'.repeat(90_000)}`, notBefore: i % 3 === 0 ? later : null }),
    );
    expect((await backend.enqueue(messages)).every(({ ok }) => ok)).toBe(true);
    const stored = bus.server.queue('mail').peek(0, 100);
    expect(stored.map(({ state }) => state).sort()).toEqual([
      ...Array.from({ length: 6 }, () => 'active'),
      ...Array.from({ length: 3 }, () => 'scheduled'),
    ]);
    expect(new Set(bus.server.bodies('mail'))).toEqual(new Set(messages.map(({ body }) => body)));
  });

  it('keeps a batch to 1 MB and 4,500 messages, also where a message may have 100 MB', async () => {
    const { clock } = bus;
    const premium = await startServiceBus({ clock, maxMessageBytes: 104_857_600 });
    premium.createQueue('mail', { duplicateWindowMs: minute });
    const { connectionString } = premium;
    const backend = bus.open({ connectionString, maxBodyBytes: 100_000_000 });
    const messages = [
      ...Array.from({ length: 5_000 }, (_, i) => message(`small ${i}`)),
      ...Array.from({ length: 20 }, (_, i) => message(`large ${i}`, { body: `${i} ${'x'.repeat(200_000)}` })),
      message('huge', { body: 'x'.repeat(3_000_000) }),
    ];
    const failed = (await backend.enqueue(messages)).filter(({ ok }) => !ok);
    expect([failed, premium.bodies('mail').length]).toEqual([[], messages.length]);
    await backend.close();
    await premium.stop();
  });

  it('refuses a message that only its properties make too large, and sends its neighbours', async () => {
    const backend = open({ maxBodyBytes: 262_144 });
    const large = message('large', { body: 'x'.repeat(262_144) });
    const results = await backend.enqueue([message('a'), large, message('b')]);
    expect(results.map((one) => (one.ok ? 'ok' : one.error.code))).toEqual(['ok', 'LIMIT', 'ok']);
  });

  it('drops a message whose id was used within the window, and says it was taken', async () => {
    const backend = open();
    const twice = [message('a'), message('a', { body: '{"other":1}' })];
    expect((await backend.enqueue(twice)).map(({ ok }) => ok)).toEqual([true, true]);
    expect(bus.server.bodies('mail')).toEqual(['{"id":"a"}']);
  });
});

describe('a fetch that waits', () => {
  it('holds the first message back for no other one, and then has all there is room for', async () => {
    const backend = open();
    await backend.enqueue(Array.from({ length: 30 }, (_, i) => message(`m${i}`)));
    const fetch = () => backend.fetch({ queues: ['mail'], max: 20, leaseMs: minute, waitMs: minute });
    const found = [await fetch(), await fetch(), await fetch()];
    expect(found.map(({ length }) => length)).toEqual([1, 20, 9]);
  });
});

describe('leases', () => {
  it('outlast the locks of their queue, because those are renewed', async () => {
    const backend = open();
    await backend.enqueue([message('a')]);
    const queue = bus.server.queue('mail');
    const { renew } = queue;
    let renewals = 0;
    Object.assign(queue, { renew: (token: string) => [renew(token), renewals++][0] });
    const [lease] = await take(backend, 1, 5 * minute);
    for (let passed = 1; passed <= 6; passed++) {
      bus.clock.advance(minute / 2);
      await until(() => renewals >= passed);
      await new Promise((resolve) => setTimeout(resolve, 10)); // its answer is on the way
    }
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    expect(bus.server.bodies('mail')).toEqual([]);
  });

  it('that end release their message at once, long before its lock would', async () => {
    const backend = open();
    await backend.enqueue([message('a')]);
    await take(backend, 1, 1_000);
    bus.clock.advance(1_000);
    await backend.reapExpired('mail');
    const [again] = await take(open());
    expect([again?.attempt, again?.interrupted]).toEqual([2, true]);
  });

  it('of a process that died come back when their locks end', async () => {
    await open().enqueue([message('a')]);
    const dying = new ServiceBusClient(bus.server.connectionString);
    await dying.createReceiver('mail').receiveMessages(1);
    await dying.close();
    const backend = open();
    expect(await take(backend)).toEqual([]);
    bus.clock.advance(minute);
    expect((await take(backend)).map(({ attempt, interrupted }) => [attempt, interrupted])).toEqual([
      [2, true],
    ]);
  });

  it('do not release a message that Service Bus has given to another process: there is no copy', async () => {
    const [slow, other] = [open(), open()];
    await slow.enqueue([message('a')]);
    const [stale] = await take(slow, 1, 10 * minute);
    bus.server.queue('mail').abandon(JSON.parse(stale!.token).lockToken);
    const [owned] = await take(other);
    expect(await slow.nack(stale!, { delayMs: 0, countAttempt: true })).toBe(false);
    expect(await slow.abandon(stale!, { reason: 'permanent', error: '' })).toBe(false);
    expect(bus.server.bodies('mail')).toHaveLength(1);
    expect(await other.ack([{ lease: owned! }])).toEqual([true]);
  });

  it('are refused when they are not ours', async () => {
    const lease = {
      queue: 'mail',
      body: '',
      attempt: 1,
      token: 'x',
      expiresAt: Infinity,
      interrupted: false,
    };
    await expect(open().ack([{ lease }])).rejects.toMatchObject({ code: 'BACKEND' });
  });
});

describe('administration', () => {
  it('counts what waits, what is scheduled and what is dead, over several pages', async () => {
    const backend = open();
    const later = bus.clock.now() + minute;
    await backend.enqueue(
      Array.from({ length: 600 }, (_, i) => message(`m${i}`, { notBefore: i < 100 ? later : null })),
    );
    bus.clock.advance(1_000);
    expect(await backend.admin!.stats()).toEqual([
      { queue: 'mail', ready: 500, delayed: 100, leased: 0, dead: 0, paused: false, oldestReadyMs: 1_000 },
    ]);
  });

  it.each<readonly [what: string, ask: (admin: QueueAdmin) => Promise<unknown>]>([
    ['peek', (admin) => admin.peek('mail', 1)],
    ['clear', (admin) => admin.clear('mail')],
    ['pause', (admin) => admin.setPaused('mail', true)],
    ['resume', (admin) => admin.setPaused('mail', false)],
  ])('refuses to %s, with what to do instead', async (_, ask) => {
    await expect(ask(open().admin!)).rejects.toMatchObject({ code: 'CONFIG' });
  });
});
