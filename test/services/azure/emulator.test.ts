/** The test server, through the real SDK: what holds here is what `serviceBus()` and its tests rely on. */

import {
  type ServiceBusClient as Client,
  ServiceBusClient,
  type ServiceBusMessage,
} from '@azure/service-bus';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type QueueSettings,
  type ServiceBusServer,
  startServiceBus,
} from '../../../local/simulate/service-bus/server.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

let clock: VirtualClock;
let server: ServiceBusServer;
let client: Client;
const lockMs = 60_000;

beforeEach(async () => {
  clock = createVirtualClock();
  server = await startServiceBus({ clock });
  client = new ServiceBusClient(server.connectionString, {
    retryOptions: { maxRetries: 0, timeoutInMs: 4_000 },
  });
});
afterEach(async () => {
  await client.close();
  await server.stop();
});

const text = (body: unknown): string => String(body);

function open(settings: Partial<QueueSettings> = {}) {
  server.createQueue('mail', { lockMs, ...settings });
  const sender = client.createSender('mail');
  const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 } as const;
  const receiver = client.createReceiver('mail', options);
  const dead = client.createReceiver('mail', { ...options, subQueueType: 'deadLetter' });
  return {
    sender,
    receiver,
    dead,
    send: (body: string, rest: Partial<ServiceBusMessage> = {}) =>
      sender.sendMessages({ body: Buffer.from(body), messageId: body, ...rest }),
    take: (max = 10) => receiver.receiveMessages(max, { maxWaitTimeInMs: 20 }),
    async bodies() {
      return (await receiver.receiveMessages(10, { maxWaitTimeInMs: 20 })).map(({ body }) => text(body));
    },
  };
}

describe('sending', () => {
  it('keeps body, id and properties, and gives sequence numbers', async () => {
    const t = open();
    await t.send('{"a":1}', { applicationProperties: { 'longshore.job': 'x', count: 3 }, subject: 's' });
    await t.send('b');
    const [a, b] = await t.take();
    expect([text(a!.body), a!.messageId, a!.subject]).toEqual(['{"a":1}', '{"a":1}', 's']);
    expect(a!.applicationProperties).toEqual({ 'longshore.job': 'x', count: 3 });
    expect([a!.sequenceNumber!.toNumber(), b!.sequenceNumber!.toNumber()]).toEqual([1, 2]);
    expect(a!.enqueuedTimeUtc!.getTime()).toBe(clock.now());
  });

  it('takes batches apart, and a batch of one too', async () => {
    const t = open();
    for (const bodies of [['one'], ['two', 'three']]) {
      const batch = await t.sender.createMessageBatch();
      expect(batch.maxSizeInBytes).toBe(262_144);
      for (const body of bodies) expect(batch.tryAddMessage({ body: Buffer.from(body) })).toBe(true);
      await t.sender.sendMessages(batch);
    }
    expect(await t.bodies()).toEqual(['one', 'two', 'three']);
  });

  it('drops the second message of an id within the window, also out of a batch', async () => {
    const t = open({ duplicateWindowMs: 60_000 });
    await t.send('a');
    await t.sender.sendMessages([
      { body: Buffer.from('copy'), messageId: 'a' },
      { body: Buffer.from('b'), messageId: 'b' },
    ]);
    expect(await t.bodies()).toEqual(['a', 'b']);
    clock.advance(60_000);
    await t.send('again', { messageId: 'a' });
    expect(await t.bodies()).toContain('again');
  });

  it('refuses what is too large', async () => {
    const t = open();
    await expect(t.send('x'.repeat(262_145), { messageId: 'large' })).rejects.toMatchObject({
      code: 'MessageSizeExceeded',
    });
  });

  it('keeps a scheduled message until it is due, and forgets a cancelled one', async () => {
    const t = open();
    await t.send('soon', { scheduledEnqueueTimeUtc: new Date(clock.now() + 5_000) });
    const later = { body: Buffer.from('never'), messageId: 'never' };
    await t.sender.cancelScheduledMessages(
      await t.sender.scheduleMessages(later, new Date(clock.now() + 5_000)),
    );
    clock.advance(4_999);
    expect(await t.bodies()).toEqual([]);
    expect((await t.receiver.peekMessages(10)).map(({ state }) => state)).toEqual(['scheduled']);
    clock.advance(1);
    expect(await t.bodies()).toEqual(['soon']);
  });

  it('refuses a message that is too large, and takes its neighbours', async () => {
    const t = open();
    const bodies = ['a', 'b'.repeat(300_000), 'c'];
    await t.sender.createMessageBatch(); // opens the link, so that all are sent at the same moment
    const answers = await Promise.allSettled(bodies.map((body, i) => t.send(body, { messageId: `${i}` })));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(server.bodies('mail')).toEqual(['a', 'c']);
  });

  it('lets a message die of age', async () => {
    const t = open({ deadLetterOnExpiry: true });
    await t.send('old', { timeToLive: 1_000 });
    clock.advance(1_000);
    expect(await t.bodies()).toEqual([]);
    expect((await t.dead.peekMessages(1))[0]!.deadLetterReason).toBe('TTLExpiredException');
  });
});

describe('receiving', () => {
  it('counts deliveries from 0, and releases a message when its lock ends', async () => {
    const t = open();
    await t.send('a');
    const [first] = await t.take();
    expect(first!.deliveryCount).toBe(0);
    expect(first!.lockedUntilUtc!.getTime()).toBe(clock.now() + lockMs);
    expect(await t.take()).toEqual([]);
    clock.advance(lockMs);
    await expect(t.receiver.completeMessage(first!)).rejects.toMatchObject({ code: 'MessageLockLost' });
    const [second] = await t.take();
    expect(second!.deliveryCount).toBe(1);
    expect(second!.lockToken).not.toBe(first!.lockToken);
  });

  it('renews a lock', async () => {
    const t = open();
    await t.send('a');
    const [message] = await t.take();
    clock.advance(lockMs - 1);
    expect((await t.receiver.renewMessageLock(message!)).getTime()).toBe(clock.now() + lockMs);
    clock.advance(lockMs - 1);
    await t.receiver.completeMessage(message!);
    clock.advance(lockMs);
    expect(await t.take()).toEqual([]);
    await expect(t.receiver.renewMessageLock(message!)).rejects.toMatchObject({ code: 'MessageLockLost' });
  });

  it('answers settlements of the same moment one by one', async () => {
    const t = open();
    for (const body of ['a', 'b', 'c']) await t.send(body);
    const [a, b, c] = await t.take();
    clock.advance(lockMs / 2);
    await t.receiver.renewMessageLock(a!);
    await t.receiver.renewMessageLock(c!);
    clock.advance(lockMs / 2);
    const answers = await Promise.allSettled(
      [a, b, c].map((message) => t.receiver.completeMessage(message!)),
    );
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(server.bodies('mail')).toEqual(['b']);
  });

  it('answers a settlement by another connection, and refuses a second one', async () => {
    const t = open();
    await t.send('a');
    const [{ lockToken, messageId } = {} as never] = await t.take();
    const elsewhere = new ServiceBusClient(server.connectionString);
    const receiver = elsewhere.createReceiver('mail');
    const bare = { lockToken, messageId, delivery: {} } as never;
    await receiver.completeMessage(bare);
    await expect(receiver.completeMessage(bare)).rejects.toMatchObject({ code: 'MessageLockLost' });
    await elsewhere.close();
  });

  it('abandons at once, with a change of properties', async () => {
    const t = open();
    await t.send('a', { applicationProperties: { kept: 1 } });
    const [message] = await t.take();
    await t.receiver.abandonMessage(message!, { added: 'x' });
    const [again] = await t.take();
    expect(again!.applicationProperties).toEqual({ kept: 1, added: 'x' });
    expect(again!.deliveryCount).toBe(1);
  });

  it('defers, and gives what was deferred by its number', async () => {
    const t = open();
    await t.send('a');
    const [message] = await t.take();
    await t.receiver.deferMessage(message!);
    expect(await t.take()).toEqual([]);
    const [deferred] = await t.receiver.receiveDeferredMessages(message!.sequenceNumber!);
    await t.receiver.completeMessage(deferred!);
    expect(await t.receiver.peekMessages(10)).toEqual([]);
  });

  it('keeps dead letters with their reason, and moves there what is delivered too often', async () => {
    const t = open({ maxDeliveryCount: 2 });
    await t.send('a');
    await t.send('b');
    const [a, b] = await t.take();
    await t.receiver.deadLetterMessage(a!, {
      deadLetterReason: 'why',
      deadLetterErrorDescription: '',
      'longshore.attempt': 1,
    });
    await t.receiver.abandonMessage(b!);
    await t.receiver.abandonMessage((await t.take())[0]!);
    const letters = await t.dead.peekMessages(10);
    expect(letters.map(({ body, deadLetterReason }) => [text(body), deadLetterReason])).toEqual([
      ['a', 'why'],
      ['b', 'MaxDeliveryCountExceeded'],
    ]);
    expect(letters[0]!.applicationProperties).toMatchObject({ 'longshore.attempt': 1 });
    expect(letters[0]!.deadLetterSource).toBe('mail');
  });

  it('takes away at once for a receiver that wants it so', async () => {
    const t = open();
    await t.send('a');
    const receiver = client.createReceiver('mail', { receiveMode: 'receiveAndDelete' });
    expect(await receiver.receiveMessages(1)).toHaveLength(1);
    expect(await t.receiver.peekMessages(10)).toEqual([]);
  });

  it('shares messages out among receivers that wait', async () => {
    const t = open();
    const other = client.createReceiver('mail');
    const both = [t.receiver, other].map((one) => one.receiveMessages(1, { maxWaitTimeInMs: 4_000 }));
    await t.send('a');
    await t.send('b');
    expect((await Promise.all(both)).map((messages) => messages.length)).toEqual([1, 1]);
  });

  it('hands a stream of messages to a subscriber', async () => {
    const t = open();
    const seen = new Promise<string>((resolve) => {
      t.receiver.subscribe({
        processMessage: async ({ body }) => resolve(text(body)),
        processError: async () => {},
      });
    });
    await t.send('a');
    expect(await seen).toBe('a');
    await t.receiver.close();
    expect(await t.receiver.isClosed).toBe(true);
  });

  it('gives one session 2,048 messages that are not settled, and no more before one is', async () => {
    const t = open();
    for (let i = 0; i < 2_100; i++) server.write('mail', String(i));
    const held = [];
    for (let looks = 0; looks < 12; looks++) held.push(...(await t.take(250)));
    expect(held).toHaveLength(2_048);
    expect(await client.createReceiver('mail').receiveMessages(250, { maxWaitTimeInMs: 20 })).toHaveLength(
      52,
    );
    server.write('mail', 'next');
    expect(await t.take()).toEqual([]);
    await t.receiver.completeMessage(held[0]!);
    expect((await t.take()).map(({ body }) => text(body))).toEqual(['next']);
  });
});

describe('connections', () => {
  it('come back after they were cut, and find everything as it was', async () => {
    const t = open();
    await t.send('a');
    const [message] = await t.take();
    server.dropConnections();
    const again = new ServiceBusClient(server.connectionString);
    await again.createReceiver('mail').completeMessage({ ...message, delivery: {} } as never);
    await again.createSender('mail').sendMessages({ body: Buffer.from('b'), messageId: 'b' });
    const [b] = await again.createReceiver('mail').receiveMessages(1);
    expect(text(b!.body)).toBe('b');
    await again.close();
  });

  it('get no message when they are gone', async () => {
    const t = open();
    const waiting = t.receiver.receiveMessages(1, { maxWaitTimeInMs: 4_000 }).catch(() => []);
    await t.receiver.peekMessages(1);
    await t.send('first'); // so the receiver has been given credit, and has used it
    expect(await waiting).toHaveLength(1);
    const again = t.receiver.receiveMessages(1, { maxWaitTimeInMs: 4_000 }).catch(() => []);
    await t.receiver.peekMessages(1);
    server.dropConnections();
    server.write('mail', 'second');
    expect(server.queue('mail').counts()).toMatchObject({ ready: 1, locked: 1 });
    await again;
  });

  it('fail for a queue that does not exist', async () => {
    const missing = { code: 'MessagingEntityNotFound' };
    await expect(client.createSender('none').sendMessages({ body: 'x' })).rejects.toMatchObject(missing);
    await expect(
      client.createReceiver('none').receiveMessages(1, { maxWaitTimeInMs: 20 }),
    ).rejects.toMatchObject(missing);
  });
});
