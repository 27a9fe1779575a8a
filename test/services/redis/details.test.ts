/** What is particular to Redis: warnings, budgets, wrong inputs. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLink } from '../../../local/backends/redis/connection.ts';
import { redis } from '../../../local/backends/redis/index.ts';
import { keepBusy } from '../../kit/busy.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { many, open, server, take } from './kit.ts';

it('a server that is full, or takes no writes, fails a probe as it would fail an enqueue', async () => {
  const { backend } = open();
  await backend.admin!.probe!();
  await server.command('CONFIG', 'SET', 'maxmemory', '1');
  await expect(backend.admin!.probe!()).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  await server.command('CONFIG', 'SET', 'maxmemory', '0');
  await server.command('REPLICAOF', '127.0.0.1', '1');
  await expect(backend.admin!.probe!()).rejects.toMatchObject({ code: 'READ_ONLY' });
  await server.command('REPLICAOF', 'NO', 'ONE');
  await backend.admin!.probe!();
  await backend.close();
});

describe('a server that evicts', () => {
  it('is warned of once, however often it is connected to', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const warnings: string[] = [];
    const { backend } = open();
    backend.onWarning!((text) => warnings.push(text));
    await backend.admin!.stats();
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    await until(() => backend.admin!.stats().then(Boolean, () => false));
    expect(warnings).toEqual([expect.stringContaining('maxmemory-policy allkeys-lru')]);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await backend.close();
  });

  it('is not warned of when it has noeviction', async () => {
    const warnings: string[] = [];
    const { backend } = open();
    backend.onWarning!((text) => warnings.push(text));
    await backend.admin!.stats();
    expect(warnings).toEqual([]);
    await backend.close();
  });
});

describe('a process that is busy', () => {
  it('for longer than a server may be silent blames none', async () => {
    const link = createLink({ url: server.url, silenceMs: 100 });
    await link.send('asking', ['PING']);
    const answer = link.send('asking', ['PING']);
    keepBusy(400);
    expect(await answer).toBe('PONG');
    await link.close();
  });
});

describe('budgets', () => {
  it('keep the latest completed jobs, by count', async () => {
    const { backend } = open({ completedBudget: { count: 10 } });
    await backend.enqueue(many(50));
    for (let left = 50; left > 0; left -= 10) {
      const leases = await backend.fetch({ ...take, max: 10 });
      await backend.ack(leases.map((lease) => ({ lease })));
    }
    const kept = (await backend.stores!.records.page({ status: 'completed' })).records;
    expect(kept.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, i) => `id-${49 - i}`));
    await backend.close();
  });

  it('keep the latest completed jobs, by bytes', async () => {
    const { backend, prefix } = open({ completedBudget: { bytes: 20_000 } });
    await backend.enqueue(many(500));
    for (let i = 0; i < 500; i += 100) {
      const leases = await backend.fetch({ ...take, max: 100 });
      await backend.ack(leases.map((lease) => ({ lease })));
    }
    const kept = (await backend.stores!.records.page({ status: 'completed', max: 1_000 })).records;
    expect(kept.length).toBeGreaterThan(20);
    expect(kept.length).toBeLessThan(100);
    expect(kept[0]?.id).toBe('id-499');
    const bytes = Number(await server.command('HGET', `${prefix}:{default}:info`, 'done'));
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(20_000);
    await backend.stores!.records.purge({ completedMs: 0, deadMs: 0 });
    expect(await server.command('HGET', `${prefix}:{default}:info`, 'done')).toBe('0');
    await backend.close();
  });

  it('drop the oldest dead letters, and say so', async () => {
    const warnings: string[] = [];
    const { backend } = open({ deadBudget: { count: 3 } });
    backend.onWarning!((text) => warnings.push(text));
    await backend.enqueue(many(5));
    for (const lease of await backend.fetch(take)) {
      await backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: no' });
      await delay(2); // so that they die in an order
    }
    const dead = await backend.admin!.deadLetters.list({});
    expect(dead.map(({ id }) => id)).toEqual(['id-4', 'id-3', 'id-2']);
    expect(warnings).toEqual([expect.stringContaining('deadBudget')]); // once, not for each
    await backend.close();
  });

  it('leave nothing behind when all is settled and nothing is kept', async () => {
    const { backend, prefix } = open({ retention: { completedMs: 0 } });
    await backend.enqueue(many(2_500));
    for (let leases = await backend.fetch(take); leases.length > 0; leases = await backend.fetch(take)) {
      const [first, ...others] = leases;
      await backend.nack(first!, { delayMs: 0, countAttempt: true });
      await backend.ack(others.map((lease) => ({ lease })));
      const [again] = await backend.fetch({ ...take, max: 1 });
      await backend.ack([{ lease: again! }]);
    }
    const keys = (await server.command('KEYS', `${prefix}:{default}*`)) as string[];
    expect(keys).toEqual([]);
    await backend.close();
  });
});

describe('keys of one queue', () => {
  it('are in one hash slot', async () => {
    const { backend, prefix } = open();
    await backend.enqueue([...many(3), message({ id: 'later', notBefore: Date.now() + 60_000 })]);
    const [done, dead, back] = await backend.fetch(take);
    await backend.ack([{ lease: done! }]);
    await backend.abandon(dead!, { reason: 'permanent', error: '' });
    await backend.nack(back!, { delayMs: 0, countAttempt: true });
    await backend.fetch(take);
    await backend.admin!.setPaused('default', true);
    const keys = (await server.command('KEYS', `${prefix}:{*`)) as string[];
    expect(keys.length).toBeGreaterThan(6);
    expect(keys.filter((key) => !key.startsWith(`${prefix}:{default}:`))).toEqual([]);
    await backend.close();
  });
});

describe('time', () => {
  it('is the server’s: a host whose clock is an hour off takes no lease too early', async () => {
    const { backend: right, prefix } = open();
    await right.enqueue(many(1));
    const [lease] = await right.fetch(take);
    const wrong = redis({ url: server.url, prefix });
    expect(await wrong.reapExpired('default')).toBe(0);
    const clock = createVirtualClock(Date.now() + 3_600_000);
    const tested = redis({ url: server.url, prefix, clock });
    expect(await tested.reapExpired('default')).toBe(1); // only a test may say what time it is
    expect(await right.ack([{ lease: lease! }])).toEqual([false]);
    for (const backend of [right, wrong, tested]) await backend.close();
  });
});

describe('a large enqueue', () => {
  it('is answered per message when the server fails in the middle of it', async () => {
    const { backend, prefix } = open();
    const proxy = await startProxy(server.url);
    const proxied = redis({ url: proxy.url, prefix });
    await proxied.admin!.stats();
    // Stored by calls of at most 1,000 messages; the connection is cut while they are on their way.
    const sending = proxied.enqueue(many(20_000, { hints: { isNew: true } }));
    await until(async () => (await backend.admin!.stats('default'))[0]!.ready > 0);
    proxy.cut('EVAL');
    const results = await sending;
    const confirmed = results.filter(({ ok }) => ok).map(({ id }) => id);
    expect(results).toHaveLength(20_000);
    expect(confirmed.length).toBeLessThan(20_000);
    const stored = await Promise.all(confirmed.map((id) => backend.stores!.records.get(id)));
    expect(stored.filter((record) => record === null)).toEqual([]);
    await backend.close();
    await proxied.close();
    await proxy.close();
  });
});

describe('acks and a fetch from several queues in one step', () => {
  it('fail together: what was leased is released uncounted', async () => {
    const { backend, prefix } = open();
    await backend.enqueue([message({ id: 'a', queue: 'broken' }), message({ id: 'b' })]);
    const [lease] = await backend.fetch({ ...take, queues: ['broken'] });
    await server.command('RENAME', `${prefix}:{broken}:leases`, `${prefix}:{broken}:kept`);
    await server.command('SET', `${prefix}:{broken}:leases`, 'somebody else has written here');
    const both = backend.hints!.ackAndFetch!([{ lease: lease! }], { ...take, queues: ['default', 'other'] });
    await expect(both).rejects.toMatchObject({ code: 'CORRUPT' });
    await server.command('RENAME', `${prefix}:{broken}:kept`, `${prefix}:{broken}:leases`);
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    expect(await backend.fetch(take)).toMatchObject([{ attempt: 1, interrupted: false }]);
    await backend.close();
  });
});

describe('wrong inputs', () => {
  it.each<[what: string, options: unknown, message: RegExp]>([
    ['no URL', '', /expects a URL, got ""/],
    ['a URL of something else', 'postgres://localhost', /expects a URL like redis:/],
    ['a URL with a raw # in the password', 'redis://:a#b@localhost', /write characters such as #/],
    ['a prefix with a brace', { url: 'redis://localhost', prefix: 'a{b}' }, /prefix to be 1 to 100/],
    ['a poll of nothing', { url: 'redis://localhost', pollMs: 0 }, /pollMs of redis\(\)/],
    ['a budget of nothing', { url: 'redis://localhost', deadBudget: { count: 0 } }, /deadBudget.count/],
  ])('refuses %s', (_what, options, text) => {
    expect(() => redis(options as string)).toThrow(text);
  });

  it('says so when no server listens there, without the password', async () => {
    const backend = redis({ url: 'redis://:secret@127.0.0.1:1' });
    const error = await backend.fetch(take).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'BACKEND', message: expect.stringMatching(/ECONNREFUSED.*Check/) });
    expect(String((error as Error).message)).not.toContain('secret');
    const [result] = await backend.enqueue(many(1));
    expect(result).toMatchObject({ ok: false, error: { code: 'BACKEND' } });
    await backend.close();
  });

  it('gives up a server that takes connections and says nothing', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { backend } = open({ url: `redis://127.0.0.1:${port}`, silenceMs: 200 });
    await expect(backend.fetch(take)).rejects.toMatchObject({ code: 'BACKEND' });
    await backend.close();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('refuses what a later release has stored', async () => {
    const { backend, prefix } = open();
    await server.command('SET', `${prefix}:version`, '3');
    await expect(backend.fetch(take)).rejects.toMatchObject({ code: 'SCHEMA_VERSION' });
    await backend.close();
  });

  it('says so when the password is wrong', async () => {
    const { backend } = open({ url: server.url.replace(/:[^:@]+@/, ':guessed@') });
    await expect(backend.admin!.stats()).rejects.toMatchObject({ code: 'CONFIG' });
    await backend.close();
  });

  it('says so when something else has written to its keys', async () => {
    const { backend, prefix } = open();
    await server.command('SET', `${prefix}:{default}:jobs`, 'mine');
    expect(await backend.enqueue(many(1))).toMatchObject([{ ok: false, error: { code: 'CORRUPT' } }]);
    await backend.close();
  });

  it('gives out what is left when a text was deleted by hand', async () => {
    const { backend, prefix } = open();
    await backend.enqueue(many(3));
    await server.command('HDEL', `${prefix}:{default}:jobs`, 'id-1');
    const leases = await backend.fetch(take);
    expect(leases.map(({ token }) => token.slice(24))).toEqual(['id-0', 'id-2']);
    await backend.close();
  });
});

describe('the rights that the documentation names', () => {
  it('are enough for everything', async () => {
    const page = await readFile(new URL('../../../docs/backends.md', import.meta.url), 'utf8');
    const rights = /\*\*ACL\*\*: `([^`]+)`/.exec(page)![1]!.replaceAll('longshore:', 'few-rights:');
    await server.command('ACL', 'SETUSER', 'worker', 'on', '>own', ...rights.split(' '));
    const url = server.url.replace('redis://:', 'redis://worker:').replace(/:[^:@]+@/, ':own@');
    const backend = redis({ url, prefix: 'few-rights' });
    const { stores, admin } = backend;
    await backend.enqueue([...many(4), message({ id: 'later', notBefore: Date.now() + 60_000 })]);
    const [done, back, dead, slow] = await backend.fetch(take);
    const complete = { key: 'k', owner: done!.token, value: '1', keepUntil: Date.now() + 60_000 };
    await stores!.keys.claim('k', done!.token, Date.now() + 60_000);
    expect(await backend.ack([{ lease: done!, complete }])).toEqual([true]);
    expect(await stores!.keys.claim('k', 'other', Date.now())).toEqual({ state: 'completed', value: '1' });
    expect(await backend.nack(back!, { delayMs: 60_000, countAttempt: true })).toBe(true);
    expect(await backend.abandon(dead!, { reason: 'permanent', error: '' })).toBe(true);
    expect(await backend.renew([slow!], 60_000)).toEqual([true]);
    expect(await backend.reapExpired('default')).toBe(0);
    expect((await stores!.records.page({})).records).toHaveLength(5);
    expect(await stores!.records.cancel('later')).toBe('cancelled');
    expect(await admin!.deadLetters.retry(['id-2'])).toBe(1);
    await admin!.setPaused('default', true);
    await admin!.setPaused('default', false);
    expect(await admin!.clear('default')).toBe(2);
    expect(await backend.fetch({ ...take, waitMs: 50 })).toEqual([]);
    expect(await stores!.workers!.list(0)).toEqual([]);
    const slot = { key: 'k', holder: 'a', owner: 'a', limit: 1, holdMs: 60_000, rank: 0, queue: 'default' };
    expect(await stores!.limits!.take([slot, { ...slot, holder: 'b' }])).toMatchObject([
      { taken: true },
      { taken: false },
    ]);
    expect(await stores!.limits!.extend([slot], 60_000)).toEqual([true]);
    expect(await stores!.limits!.free([slot])).toMatchObject([{ holder: 'b' }]);
    await stores!.records.purge({ completedMs: 0, deadMs: 0 });
    await backend.close();
  });
});
