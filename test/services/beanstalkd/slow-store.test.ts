/** A store beside beanstalkd that takes calls and never answers: jobs go on as with one that fails. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(() => server.remove());

const take = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 0 };
let clock: VirtualClock;
let backend: QueueBackend;
let hangs: boolean;
let asked: PromiseWithResolvers<void>;

beforeEach(() => {
  clock = createVirtualClock();
  hangs = false;
  asked = Promise.withResolvers();
  const store = memoryStore({ clock });
  const hanging =
    <Args extends unknown[], Answer>(verb: (...args: Args) => Promise<Answer>) =>
    (...args: Args): Promise<Answer> => {
      if (!hangs) return verb(...args);
      asked.resolve();
      return new Promise(() => {});
    };
  const keys = { ...store.keys, claim: hanging(store.keys.claim), complete: hanging(store.keys.complete) };
  const prefix = `slow-${++prefixes}-`;
  backend = beanstalkd({ url: server.url, prefix, clock, store: { ...store, keys } });
  return () => backend.close();
});

/** What comes of a call while the store hangs. */
async function during<T>(call: () => Promise<T>): Promise<T> {
  hangs = true;
  const answer = call();
  await asked.promise;
  clock.advance(10_000);
  return answer.finally(() => {
    hangs = false;
  });
}

describe('while the store of beanstalkd() hangs', { timeout: 20_000 }, () => {
  it('a job that was run before is leased, with the attempts that beanstalkd counts', async () => {
    await backend.enqueue([message({ id: 'a' })]);
    const [lease] = await backend.fetch(take);
    await backend.nack(lease!, { delayMs: 0, countAttempt: true });
    expect(await during(() => backend.fetch(take))).toMatchObject([{ attempt: 2, interrupted: false }]);
  });

  it('a job is released all the same', async () => {
    await backend.enqueue([message({ id: 'a' })]);
    const [lease] = await backend.fetch(take);
    expect(await during(() => backend.nack(lease!, { delayMs: 0, countAttempt: false }))).toBe(true);
  });

  it('an abandon is an error, and can be repeated', async () => {
    await backend.enqueue([message({ id: 'a' })]);
    const [lease] = await backend.fetch(take);
    const abandon = () => backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    await expect(during(abandon)).rejects.toMatchObject({ code: 'BACKEND' });
    expect(await abandon()).toBe(true);
  });

  it('an ack with a key is an error, and can be repeated, as the acks beside it', async () => {
    await backend.enqueue([message({ id: 'a' }), message({ id: 'b' })]);
    const [keyed, plain] = await backend.fetch(take);
    await backend.stores!.keys.claim('k', keyed!.token, clock.now() + 60_000);
    const complete = { key: 'k', owner: keyed!.token, value: null, keepUntil: clock.now() + 60_000 };
    const ack = () => backend.ack([{ lease: keyed!, complete }, { lease: plain! }]);
    await expect(during(ack)).rejects.toMatchObject({ code: 'BACKEND' });
    expect(await ack()).toEqual([true, true]);
  });
});
