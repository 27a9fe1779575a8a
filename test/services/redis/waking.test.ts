/** Who is told of new jobs, and what idle workers cost. */

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../../kit/until.ts';
import { startProxy } from '../postgres/proxy.ts';
import { message } from '../sqlite/messages.ts';
import { callsOf, many, open, server, take } from './kit.ts';

const claims = () => callsOf('evalsha');
const publications = () => callsOf('publish');

describe('an idle worker', () => {
  const idle = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 5_000 };

  it('is told of a job by another process, and asks the server next to nothing meanwhile', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const controller = new AbortController();
    const fetched = waiter.fetch({ ...idle, signal: controller.signal });
    const channel = `${prefix}:{default}:ring`;
    await until(async () => ((await server.command('PUBSUB', 'CHANNELS', channel)) as string[]).length === 1);
    const before = await claims();
    await delay(500); // the idleness itself
    expect((await claims()) - before).toBeLessThanOrEqual(2);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    await waiter.close();
    await sender.close();
  });

  it('is notified for the first of many jobs, and nobody for those that come while it is at work', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const channel = `${prefix}:{default}:ring`;
    const idles = () => server.command('HEXISTS', `${prefix}:{default}:info`, 'idle');
    const before = await publications();
    for (const one of many(20)) await sender.enqueue([one]);
    expect(await publications()).toBe(before);
    expect(await waiter.fetch(idle)).toHaveLength(10);
    expect(await waiter.fetch(idle)).toHaveLength(10);
    const fetched = waiter.fetch(idle);
    await until(async () => (await idles()) === 1);
    await until(async () => ((await server.command('PUBSUB', 'CHANNELS', channel)) as string[]).length === 1);
    await sender.enqueue([message({ id: 'first' })]);
    expect((await publications()) - before).toBe(1);
    const [lease] = await fetched;
    await sender.enqueue([message({ id: 'second' })]);
    await sender.nack(lease!, { delayMs: 0, countAttempt: true });
    expect((await publications()) - before).toBe(1);
    await waiter.close();
    await sender.close();
  });

  it('is told of a job in any of its queues, and of one that will be due', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const queues = ['a', 'b'];
    const hears = async () => {
      const [, a, , b] = (await server.command(
        'PUBSUB',
        'NUMSUB',
        ...queues.map((queue) => `${prefix}:{${queue}}:ring`),
      )) as unknown[];
      const marked = queues.map((queue) => server.command('HEXISTS', `${prefix}:{${queue}}:info`, 'idle'));
      return a === 1 && b === 1 && (await Promise.all(marked)).every((mark) => mark === 1);
    };
    for (const queue of queues) {
      const fetched = waiter.fetch({ ...idle, queues });
      await until(hears);
      const startedAt = performance.now();
      await sender.enqueue([message({ id: queue, queue, notBefore: Date.now() + 50 })]);
      expect(await fetched).toHaveLength(1);
      expect(performance.now() - startedAt).toBeLessThan(1_500); // it would look by itself after 2 s
    }
    await waiter.close();
    await sender.close();
  });

  it('may wait at a server that is too full to take its mark', async () => {
    const { backend } = open();
    await backend.admin!.stats();
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    try {
      expect(await backend.fetch({ ...idle, waitMs: 20 })).toEqual([]);
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0');
    }
    await backend.close();
  });

  it('looks by itself where it may not listen', async () => {
    const { backend: waiter, prefix } = open({ listen: false, pollMs: 20 });
    const { backend: sender } = open({ prefix, listen: false });
    const fetched = waiter.fetch(idle);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    await waiter.close();
    await sender.close();
  });

  it('finds a job although the connection on which it listens is dead and nobody has noticed', async () => {
    const proxy = await startProxy(server.url);
    const { backend: waiter, prefix } = open({ url: proxy.url, silenceMs: 300 }); // it may not have heard yet that it is subscribed
    const { backend: sender } = open({ prefix });
    const channel = `${prefix}:{default}:ring`;
    const fetched = waiter.fetch(idle);
    await until(async () => ((await server.command('PUBSUB', 'CHANNELS', channel)) as string[]).length === 1);
    expect(proxy.silence(':ring')).toBe(1);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    // Having found what it was not told of, it listens anew.
    const next = waiter.fetch(idle);
    await until(async () => {
      const [, count] = (await server.command('PUBSUB', 'NUMSUB', channel)) as [string, number];
      return count === 2; // the server still believes in the dead one
    });
    await sender.enqueue([message({ id: 'next' })]);
    expect(await next).toHaveLength(1);
    await waiter.close();
    await sender.close();
    await proxy.close();
  });

  it('listens anew when the network swallows its subscription', async () => {
    const proxy = await startProxy(server.url);
    proxy.silenceNext('subscribe');
    const { backend: waiter, prefix } = open({ url: proxy.url, silenceMs: 300 });
    const { backend: sender } = open({ prefix });
    const fetched = waiter.fetch({ ...idle, waitMs: 20_000 });
    const channel = `${prefix}:{default}:ring`;
    await until(async () => ((await server.command('PUBSUB', 'CHANNELS', channel)) as string[]).length === 1);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    await sender.close();
    await waiter.close();
    await proxy.close();
  });

  it('notices that the network swallows its commands, and connects anew', async () => {
    const proxy = await startProxy(server.url);
    const { backend } = open({ url: proxy.url, silenceMs: 300 });
    await backend.enqueue(many(1));
    expect(proxy.silence('EVAL')).toBe(1);
    await expect(backend.fetch(take)).rejects.toMatchObject({
      code: 'BACKEND',
      message: 'Redis failed during claiming: the server has not answered for 300 ms.',
    });
    expect(await backend.fetch(take)).toHaveLength(1);
    await backend.close();
    await proxy.close();
  });
});
