/** Settling while the connection could be used for something else. */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stores } from '../../../core/contract/store.ts';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { movable } from '../../../local/move/contract.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(() => server.remove());

const take = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 0 };
const waitMs = 60_000;
/** Far less than the wait, and enough for a busy machine. */
const soonMs = 20_000;

/** A store in another process: every call takes a while, in which a worker can do something else. */
function slowStore(): Stores {
  const store = memoryStore();
  const { claim } = store.keys;
  const keys = {
    ...store.keys,
    claim: (...args: Parameters<typeof claim>) => delay(100).then(() => claim(...args)),
  };
  return { ...store, keys };
}

describe('a lease that is settled with a slow store, while its worker waits for the next job', () => {
  const ways = {
    'is buried': (backend, lease) => backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: x' }),
    'is released': (backend, lease) => backend.nack(lease, { delayMs: 3_600_000, countAttempt: false }),
  } satisfies Record<string, (backend: ReturnType<typeof beanstalkd>, lease: never) => Promise<boolean>>;

  it.each(Object.entries(ways))('%s before the wait ends', { timeout: 2 * waitMs }, async (name, settle) => {
    const backend = beanstalkd({
      url: server.url,
      prefix: `${name.replaceAll(' ', '-')}-`,
      store: slowStore(),
    });
    await backend.enqueue([message({ id: 'a' })]);
    const [lease] = await backend.fetch(take);
    const stopping = new AbortController();
    const settling = settle(backend, lease as never);
    const waiting = backend.fetch({ ...take, waitMs, signal: stopping.signal });
    await until(async () => (await server.count('current-waiting')) === 1);
    expect(await Promise.race([settling, delay(soonMs, 'late')])).toBe(true);
    stopping.abort();
    expect(await waiting).toEqual([]);
    await backend.close();
  });
});

describe('jobs that are moved here', () => {
  it('come to their own queue, whichever one was sent to before', async () => {
    const backend = beanstalkd({ url: server.url, prefix: 'moved-', store: memoryStore() });
    const { partialTransfer } = movable(backend);
    await backend.enqueue([message({ id: 'first', queue: 'one' })]);
    const moved = { createdAt: 0, attempts: 2, interrupted: false, reports: [], progress: null, death: null };
    const job = { ...moved, message: { ...message({ id: 'moved', queue: 'two' }), notBefore: 0 } };
    expect(await partialTransfer!.put!([job])).toMatchObject([{ ok: true }]);
    await backend.enqueue([message({ id: 'second', queue: 'one' })]);
    const ready = (await backend.admin!.stats()).map(({ queue, ready }) => [queue, ready]);
    expect(ready).toEqual([
      ['one', 2],
      ['two', 1],
    ]);
    await backend.close();
  });
});
