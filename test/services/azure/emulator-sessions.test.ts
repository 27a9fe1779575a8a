/** Sessions of the test server, through the real SDK. */

import { type ServiceBusClient as Client, ServiceBusClient } from '@azure/service-bus';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ServiceBusServer,
  type SessionOrder,
  startServiceBus,
} from '../../../local/simulate/service-bus/server.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

let clock: VirtualClock;
let server: ServiceBusServer;
let client: Client;
let opened: Client[];
const lockMs = 60_000;
const options = { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 } as const;

/** @param waitMs how long it waits for a session */
function connect(waitMs: number): Client {
  const retryOptions = { maxRetries: 0, timeoutInMs: waitMs };
  opened.push(new ServiceBusClient(server.connectionString, { retryOptions }));
  return opened.at(-1)!;
}
beforeEach(async () => {
  opened = [];
  clock = createVirtualClock();
  server = await startServiceBus({ clock });
  server.createQueue('mail', { lockMs, requiresSession: true });
  client = connect(4_000);
});
afterEach(async () => {
  for (const one of opened) await one.close();
  await server.stop();
});

const put = (body: string, sessionId: string, rest: object = {}) =>
  client.createSender('mail').sendMessages({ body: Buffer.from(body), messageId: body, sessionId, ...rest });
const accept = (one = client) => one.acceptNextSession('mail', options);
type Session = Awaited<ReturnType<typeof accept>>;
const take = (session: Session, max = 1) => session.receiveMessages(max, { maxWaitTimeInMs: 20 });
const bodies = (messages: readonly { body: unknown }[]) => messages.map(({ body }) => String(body));
const nothing = { code: 'ServiceTimeout' };
const lost = { code: 'SessionLockLost' };

describe('a queue that requires sessions', () => {
  it('refuses messages without a session, also scheduled ones and in batches', async () => {
    const sender = client.createSender('mail');
    const plain = { body: Buffer.from('a') };
    await expect(sender.sendMessages(plain)).rejects.toThrow(/SessionId was not set/);
    await expect(sender.sendMessages([plain, plain])).rejects.toThrow(/SessionId was not set/);
    const later = new Date(clock.now() + 60_000);
    await expect(sender.scheduleMessages(plain, later)).rejects.toThrow(/SessionId was not set/);
  });

  it('refuses a receiver without a session, but shows what is in it', async () => {
    await put('a', 's');
    const receiver = client.createReceiver('mail', options);
    await expect(receiver.receiveMessages(1, { maxWaitTimeInMs: 20 })).rejects.toThrow(/requires sessions/);
    expect(bodies(await client.createReceiver('mail', options).peekMessages(5))).toEqual(['a']);
  });

  it('is the only kind that has them', async () => {
    server.createQueue('plain');
    await expect(client.acceptNextSession('plain')).rejects.toThrow(/does not require sessions/);
  });
});

/** The queue anew, with its free sessions in another order. */
function ordered(sessionOrder: SessionOrder): void {
  server.deleteQueue('mail');
  server.createQueue('mail', { lockMs, requiresSession: true, sessionOrder });
}

describe('the next session', () => {
  it('is the one with the oldest message, with its messages alone and in their order', async () => {
    for (const [body, id] of Object.entries({ a1: 'a', b1: 'b', a2: 'a' })) await put(body, id);
    const [a, b] = [await accept(), await accept()];
    expect([a.sessionId, b.sessionId]).toEqual(['a', 'b']);
    expect(a.sessionLockedUntilUtc.getTime()).toBe(clock.now() + lockMs);
    expect(bodies(await take(a, 5))).toEqual(['a1', 'a2']);
    const [message] = await take(b, 5);
    expect([message!.sessionId, message!.deliveryCount]).toEqual(['b', 0]);
    await b.completeMessage(message!);
    expect(await take(b)).toEqual([]);
  });

  it('is not there when all are held, empty or not due', async () => {
    await put('a', 'a');
    await put('later', 'b', { scheduledEnqueueTimeUtc: new Date(clock.now() + 60_000) });
    const held = await accept();
    const hurried = connect(100);
    await expect(accept(hurried)).rejects.toMatchObject(nothing);
    clock.advance(30_000);
    await held.renewSessionLock();
    clock.advance(30_000);
    const next = await accept(hurried);
    expect(bodies(await take(next))).toEqual(['later']);
  });

  it('comes to those who wait, when a message comes or another one is closed', async () => {
    const waiting = accept();
    await client.createReceiver('mail', options).peekMessages(1); // by then it waits
    await put('a', 'a');
    const first = await waiting;
    const [message] = await take(first);
    await put('a2', 'a');
    const again = accept();
    await first.completeMessage(message!);
    await first.close();
    expect(bodies(await take(await again))).toEqual(['a2']);
  });

  it.each<[string, SessionOrder, string[]]>([
    ['the one with the oldest message', 'oldest', ['a1', 'a2', 'b1', 'b2']],
    ['the one that is free for the longest', 'turns', ['a1', 'b1', 'a2', 'b2']],
    ['any, as a test chooses', () => 0.9, ['b1', 'b2', 'a1', 'a2']],
  ])('may be %s', async (_, sessionOrder, expected) => {
    ordered(sessionOrder);
    for (const [body, id] of Object.entries({ a1: 'a', a2: 'a', b1: 'b', b2: 'b' })) await put(body, id);
    const order: string[] = [];
    for (let i = 0; i < 4; i++) {
      const session = await accept();
      const [message] = await take(session);
      order.push(String(message!.body));
      await session.completeMessage(message!);
      await session.close();
    }
    expect(order).toEqual(expected);
  });

  it('has the messages that nobody settled before it was closed, and that counts no delivery', async () => {
    await put('a', 'a');
    const session = await accept();
    await take(session);
    await session.close();
    const [message] = await take(await accept());
    expect(message!.deliveryCount).toBe(0);
  });
});

describe('the lock of a session', () => {
  it('ends with its time, for all its messages', async () => {
    await put('a', 'a');
    const session = await accept();
    const [message] = await take(session);
    clock.advance(lockMs);
    await expect(session.renewSessionLock()).rejects.toMatchObject(lost); // by then the link is closed
    await expect(session.completeMessage(message!)).rejects.toMatchObject(lost);
    const [again] = await take(await accept());
    expect(again!.deliveryCount).toBe(1);
  });

  it('is renewed for all its messages', async () => {
    await put('a', 'a');
    const session = await accept();
    const [message] = await take(session);
    for (let i = 0; i < 3; i++) {
      clock.advance(lockMs - 1);
      expect((await session.renewSessionLock()).getTime()).toBe(clock.now() + lockMs);
    }
    await session.completeMessage(message!);
    expect(server.bodies('mail')).toEqual([]);
  });

  it('is not given twice', async () => {
    await put('a', 'a');
    await accept();
    await expect(client.acceptSession('mail', 'a')).rejects.toMatchObject({ code: 'SessionCannotBeLocked' });
    expect((await client.acceptSession('mail', 'empty')).sessionId).toBe('empty');
  });

  it('ends with the connection, which counts no delivery', async () => {
    await put('a', 'a');
    const session = await accept();
    const [message] = await take(session);
    server.dropConnections();
    const [again] = await take(await accept(connect(4_000)));
    expect(again!.deliveryCount).toBe(0);
    await expect(session.completeMessage(message!)).rejects.toThrow();
  });

  it('is needed to settle: a token alone settles nothing', async () => {
    await put('a', 'a');
    const [{ lockToken, messageId } = {} as never] = await take(await accept());
    const bare = { lockToken, messageId, delivery: {} } as never;
    const elsewhere = connect(4_000).createReceiver('mail', options);
    await expect(elsewhere.completeMessage(bare)).rejects.toMatchObject(lost);
    await expect(elsewhere.renewMessageLock(bare)).rejects.toThrow();
  });
});

it('keeps dead letters of a session queue in a queue without sessions, with their session', async () => {
  await put('a', 'a');
  const session = await accept();
  await session.deadLetterMessage((await take(session))[0]!, {
    deadLetterReason: 'why',
    deadLetterErrorDescription: '',
  });
  const dead = client.createReceiver('mail', { ...options, subQueueType: 'deadLetter' });
  const [letter] = await dead.receiveMessages(1, { maxWaitTimeInMs: 20 });
  expect([letter!.sessionId, letter!.deadLetterReason]).toEqual(['a', 'why']);
  await dead.completeMessage(letter!);
});
