/** Dead letters: those of Service Bus and those of a function. */

import { describe, expect, it } from 'vitest';
import { eachWithServiceBus, message, minute, take } from './bus-kit.ts';

const bus = eachWithServiceBus();
const { open } = bus;

describe('dead letters', () => {
  it('are those of Service Bus and those of a function, in one list', async () => {
    const backend = open();
    await backend.enqueue([message('own')]);
    await backend.abandon((await take(backend))[0]!, { reason: 'exhausted', error: 'HANDLER: own' });
    await backend.enqueue([message('pushed')]);
    bus.clock.advance(1);
    const [lease] = await take(backend);
    expect(await backend.pushed.abandon(lease!, { reason: 'permanent', error: 'HANDLER: pushed' })).toBe(
      true,
    );
    const letters = await backend.admin!.deadLetters.list({});
    expect(letters.map(({ id, job, reason, error }) => [id, job, reason, error])).toEqual([
      ['pushed', 'mail.send', 'permanent', 'HANDLER: pushed'],
      ['own', 'mail.send', 'exhausted', 'HANDLER: own'],
    ]);
    expect(await backend.admin!.deadLetters.retry(['own', 'pushed'])).toBe(2);
    expect(await backend.admin!.deadLetters.list({})).toEqual([]);
  });

  it('that Service Bus moved itself say so', async () => {
    bus.server.createQueue('mail', { maxDeliveryCount: 1, lockMs: minute });
    const backend = open();
    await backend.enqueue([message('a')]);
    await take(backend, 1, 1_000);
    bus.clock.advance(1_000);
    await backend.reapExpired('mail');
    const [letter] = await backend.admin!.deadLetters.list({});
    expect([letter?.id, letter?.reason, letter?.attempt]).toEqual(['a', 'crash-loop', 1]);
    expect(letter?.error).toMatch(/^CRASH_LOOP: Service Bus moved/);
  });

  it('are listed whatever somebody else has put there', async () => {
    bus.server.write('mail-failed', 'not ours');
    const [letter] = await open().admin!.deadLetters.list({});
    expect(letter).toMatchObject({ id: 'sequence-1', job: '', reason: 'rejected', body: 'not ours' });
    expect(letter?.error).toMatch(/Somebody else moved/);
  });

  it('are taken wherever they lie among 10,000', { timeout: 120_000 }, async () => {
    const backend = open({ maxRetries: 3 });
    bus.server.createQueue('mail-failed', { lockMs: 60 * minute, maxDeliveryCount: 2_000 });
    for (let i = 1; i <= 10_000; i++) bus.server.write('mail-failed', `letter ${i}`);
    const { list, retry, discard } = backend.admin!.deadLetters;
    const letters = await list({ max: 20_000 });
    expect(letters).toHaveLength(10_000);
    expect(await retry(['sequence-10000', 'sequence-5000'])).toBe(2);
    expect(bus.server.bodies('mail').sort()).toEqual(['letter 10000', 'letter 5000']);
    expect(bus.server.queue('mail-failed').counts()).toMatchObject({ ready: 9_998, locked: 0 });
    expect(await discard(letters.map(({ id }) => id))).toBe(9_998);
    expect(await list({})).toEqual([]);
  });

  it.each(['retry', 'discard'] as const)('are taken behind others, each of them: %s', async (verb) => {
    const backend = open();
    bus.server.createQueue('mail-failed', { lockMs: 60 * minute, maxDeliveryCount: 2_000 });
    for (let i = 1; i <= 4_001; i++) bus.server.write('mail-failed', `letter ${i}`);
    const ids = Array.from({ length: 4_000 }, (_, i) => `sequence-${i + 2}`);
    expect(await backend.admin!.deadLetters[verb](ids)).toBe(4_000);
    expect(bus.server.queue('mail-failed').counts()).toMatchObject({ ready: 1, locked: 0 });
  });

  it('are listed and retried after they have expired from the -failed queue, with their reason', async () => {
    bus.server.createQueue('mail-failed', { timeToLiveMs: minute, deadLetterOnExpiry: true });
    const backend = open();
    await backend.enqueue([message('a')]);
    const [lease] = await take(backend);
    await backend.pushed.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no such invoice' });
    await backend.ack([{ lease: lease! }]);
    bus.clock.advance(minute);
    expect(bus.server.bodies('mail-failed')).toEqual([]);
    const [letter] = await backend.admin!.deadLetters.list({});
    expect([letter?.id, letter?.reason, letter?.error]).toEqual([
      'a',
      'permanent',
      'HANDLER: no such invoice',
    ]);
    expect((await backend.admin!.stats('mail'))[0]).toMatchObject({ dead: 1 });
    expect(await backend.admin!.deadLetters.retry(['a'])).toBe(1);
    expect((await backend.admin!.stats('mail'))[0]).toMatchObject({ dead: 0 });
  });

  it('need no -failed queue where no function runs', async () => {
    bus.server.deleteQueue('mail-failed');
    const backend = open();
    await backend.enqueue([message('a')]);
    await backend.abandon((await take(backend))[0]!, { reason: 'permanent', error: '' });
    expect(await backend.admin!.deadLetters.list({})).toHaveLength(1);
    expect((await backend.admin!.stats('mail'))[0]).toMatchObject({ dead: 1, ready: 0 });
  });

  it('come back once, when a process dies between sending and removing one', async () => {
    const backend = open();
    await backend.enqueue([message('a')]);
    await backend.abandon((await take(backend))[0]!, { reason: 'permanent', error: '' });
    const dead = bus.server.queue('mail/$DeadLetterQueue');
    const { complete } = dead;
    Object.assign(dead, { complete: () => false });
    await expect(backend.admin!.deadLetters.retry(['a'])).rejects.toMatchObject({ code: 'BACKEND' });
    Object.assign(dead, { complete });
    bus.clock.advance(minute); // the lock of the process that died
    expect(await backend.admin!.deadLetters.retry(['a'])).toBe(1);
    expect(bus.server.bodies('mail')).toEqual(['{"id":"a"}']);
  });

  it('keep an error of any length readable, cut between characters', async () => {
    const backend = open();
    await backend.enqueue([message('a')]);
    await backend.abandon((await take(backend))[0]!, {
      reason: 'permanent',
      error: `HANDLER: ${'é🚢'.repeat(2_000)}`,
    });
    const [letter] = await backend.admin!.deadLetters.list({});
    expect(letter!.error.isWellFormed()).toBe(true);
    expect(Buffer.byteLength(letter!.error)).toBeGreaterThan(1_400);
  });
});
