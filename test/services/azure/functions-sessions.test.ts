/** Functions of queues with sessions. */

import { describe, expect, it, vi } from 'vitest';
import { azure } from '../../../functions/azure/index.ts';
import { deliveryOf } from '../../../functions/azure/service-bus/message.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { functionAppsHere, type KitOptions, minute } from './kit.ts';

const openFunctionApp = functionAppsHere();
const open = (options: KitOptions = {}) => openFunctionApp({ sessions: ['mail'], ...options });
const group = 'account-7';

describe('a function of a queue with sessions', () => {
  it('asks the host for sessions', async () => {
    const { host } = await open();
    const trigger = host.functions.find(({ name }) => name === 'longshore-worker-mail')!;
    expect(Object.values(trigger.bindings)).toContainEqual(
      expect.objectContaining({ type: 'serviceBusTrigger', isSessionsEnabled: true }),
    );
  });

  it('runs one job of a group at a time, in order, and groups beside one another', async () => {
    const t = await open();
    for (const name of ['a1', 'a2', 'a3']) await t.enqueue(name, 'a');
    await t.enqueue('b1', 'b');
    await t.enqueue('alone');
    for (const expected of [['a1', 'alone', 'b1'], ['a2'], ['a3']]) {
      t.ran.length = 0;
      await t.trigger.poll('mail');
      expect([...t.ran].sort()).toEqual(expected);
    }
    expect(t.server.bodies('mail')).toEqual([]);
  });

  it('waits for one of eight sessions, until one has been empty for its idle time', async () => {
    const t = await open({ sessionIdleMs: 5_000 });
    for (let i = 0; i < 9; i++) await t.enqueue(`job ${i}`, `group ${i}`);
    await t.trigger.poll('mail');
    expect(t.ran).toHaveLength(8);
    t.clock.advance(4_999);
    await t.trigger.poll('mail');
    expect(t.ran).toHaveLength(8);
    t.clock.advance(5_000);
    await t.trigger.poll('mail');
    expect(t.ran).toHaveLength(9);
  });

  it('sends a retry into its session, after the others', async () => {
    const t = await open();
    t.behaviour.set('a1', ({ attempt }) => {
      if (attempt === 1) throw new Error('no');
    });
    for (const name of ['a1', 'a2']) await t.enqueue(name, group);
    await t.trigger.poll('mail');
    t.clock.advance(minute);
    for (let i = 0; i < 2; i++) await t.trigger.poll('mail');
    expect([t.ran, t.settledAs()]).toEqual([
      ['a1', 'a2', 'a1'],
      ['requeued 1', 'acked 1', 'acked 2'],
    ]);
  });

  it('keeps the group of a dead letter', async () => {
    const t = await open();
    t.behaviour.set('a1', ({ attempt }) => {
      if (attempt <= 3) throw new Error('no');
    });
    await t.enqueue('a1', group);
    for (let i = 0; i < 3; i++, t.clock.advance(minute)) await t.trigger.poll('mail');
    const [letter] = await t.backend.admin!.deadLetters!.list({});
    expect(letter).toMatchObject({ reason: 'exhausted', attempt: 3 });
    await t.backend.admin!.deadLetters!.retry([letter!.id]);
    expect(t.server.queue('mail').peek(0, 5)[0]!.sent.sessionId).toBe(group);
  });
});

describe('a function whose host dies', () => {
  it('is counted, though Service Bus counts nothing', async () => {
    const t = await open();
    await t.enqueue('a1', group);
    for (let i = 0; i < 3; i++) {
      const [message] = await t.trigger.lose('mail');
      expect(message!.deliveryCount).toBe(0);
      await t.backend.accept('mail', deliveryOf(message!), t.clock.now() + minute); // the job had begun
    }
    await t.trigger.poll('mail');
    expect([t.ran, t.settledAs()]).toEqual([[], ['dead-lettered 4']]);
    const [letter] = await t.backend.admin!.deadLetters!.list({});
    expect(letter).toMatchObject({ reason: 'crash-loop' });
  });
});

describe('a function that has lost its session', () => {
  /** One that stands still in its job while its lock ends, and another one that gets the message then. */
  async function overtaken(end: () => unknown) {
    const t = await open();
    const stands = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    t.behaviour.set('a1', async ({ attempt }) => {
      if (attempt > 1) return;
      stands.resolve();
      await goesOn.promise;
      return end();
    });
    for (const name of ['a1', 'a2']) await t.enqueue(name, group);
    const first = t.trigger.poll('mail');
    await stands.promise;
    t.clock.advance(minute - 1); // its lease is renewed by its process, and the host does not renew the lock
    const second = t.trigger.receive('mail', 1, 200);
    t.clock.advance(1);
    const [message] = await second;
    const call = await t.trigger.call('mail', message!);
    goesOn.resolve();
    return { t, late: (await first)[0]!, call };
  }

  it.each([
    ['succeeds', () => {}],
    ['fails', () => Promise.reject(new Error('no'))],
  ])('settles nothing when it %s', async (_, end) => {
    const { t, late, call } = await overtaken(end);
    expect([call.end, late.end]).toEqual(['completed', 'lock lost']);
    expect(t.ran).toEqual(['a1', 'a1']);
    await t.trigger.poll('mail');
    t.clock.advance(10 * minute);
    expect(await t.trigger.poll('mail')).toEqual([]);
    expect(t.ran).toEqual(['a1', 'a1', 'a2']);
    expect(t.server.bodies('mail-failed')).toEqual([]);
  });
});

describe('sessions of azure()', () => {
  it('need a store with keys', async () => {
    const { keys: _, ...store } = memoryStore();
    const t = await open({ store, log: () => {} });
    await t.enqueue('a1', group);
    const [message] = await t.trigger.receive('mail', 1, 200);
    const waits = vi.spyOn(t.clock, 'after');
    const called = t.trigger.call('mail', message!);
    await vi.waitFor(() => expect(waits).toHaveBeenCalledWith(minute / 2, expect.any(Function)), minute);
    t.clock.advance(minute / 2);
    expect((await called).thrown).toMatchObject({
      message: expect.stringMatching(/Expected a store with keys, because mail has sessions/),
    });
  });

  it('are names of its queues', async () => {
    const t = await open();
    const options = { connection: 'TEST_SERVICEBUS', store: t.store, sessions: ['other'] };
    expect(() => azure(t.client.app, { ...options, functions: {} as never })).toThrow(
      /Expected queue "other" to be among those/,
    );
  });
});
