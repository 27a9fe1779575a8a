/** Which workers are woken for new jobs, and what idle workers cost. */

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JobLease } from '../../../core/contract/queue.ts';
import { startProxy } from '../../kit/network/proxy.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { callsOf, many, open, server, take } from './kit.ts';

const scriptCalls = () => callsOf('evalsha');
const publications = () => callsOf('publish');
const idle = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 5_000 };
const idOf = ({ token }: JobLease) => token.slice(24);

const isMarked = async (prefix: string, queue = 'default') =>
  (await server.command('HEXISTS', `${prefix}:{${queue}}:info`, 'idle')) === 1;

/** How many connections listen for jobs of a queue. */
async function listeners(prefix: string, queue = 'default'): Promise<number> {
  const answer = (await server.command('PUBSUB', 'NUMSUB', `${prefix}:{${queue}}:ring`)) as [string, number];
  return answer[1];
}

/** Resolves when so many workers listen, and the queue is marked as one with idle workers. */
const waiting = (prefix: string, count = 1, queue = 'default') =>
  until(async () => (await listeners(prefix, queue)) === count && (await isMarked(prefix, queue)));

describe('an idle worker', () => {
  it('is woken for a job of another process, and asks the server next to nothing meanwhile', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const controller = new AbortController();
    const fetched = waiter.fetch({ ...idle, signal: controller.signal });
    await until(async () => (await listeners(prefix)) === 1);
    const before = await scriptCalls();
    await delay(500); // the idleness itself
    expect((await scriptCalls()) - before).toBeLessThanOrEqual(2);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    await waiter.close();
    await sender.close();
  });

  it('is notified of the first of many jobs, and not of those that come while it is at work', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const before = await publications();
    for (const one of many(20)) await sender.enqueue([one]);
    expect(await publications()).toBe(before);
    expect(await waiter.fetch(idle)).toHaveLength(10);
    expect(await waiter.fetch(idle)).toHaveLength(10);
    const fetched = waiter.fetch(idle);
    await waiting(prefix);
    await sender.enqueue([message({ id: 'first' })]);
    expect((await publications()) - before).toBe(1);
    const [lease] = await fetched;
    await sender.enqueue([message({ id: 'second' })]);
    await sender.nack(lease!, { delayMs: 0, countAttempt: true });
    expect((await publications()) - before).toBe(1);
    await waiter.close();
    await sender.close();
  });

  it('is woken for a job in any of its queues, and for a delayed one', async () => {
    const { backend: waiter, prefix } = open({ pollMs: 3_600_000 }); // by itself it would look too late
    const { backend: sender } = open({ prefix });
    const queues = ['a', 'b'];
    for (const queue of queues) {
      const fetched = waiter.fetch({ ...idle, queues, waitMs: 3_600_000 });
      for (const name of queues) await waiting(prefix, 1, name);
      await sender.enqueue([message({ id: queue, queue, notBefore: Date.now() + 50 })]);
      expect(await fetched).toHaveLength(1);
    }
    await waiter.close();
    await sender.close();
  });

  it('is one of several that are woken together, and each gets a job', async () => {
    const { backend: sender, prefix } = open();
    const fetches = [1, 2, 3].map(() => open({ prefix }).backend.fetch({ ...idle, max: 1 }));
    await waiting(prefix, 3);
    await sender.enqueue(many(3));
    expect(new Set((await Promise.all(fetches)).flat().map(idOf)).size).toBe(3);
  });

  it('gets a job of a paused queue when the queue is resumed', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const fetched = waiter.fetch(idle);
    await waiting(prefix);
    await sender.admin!.setPaused('default', true);
    await sender.enqueue(many(1));
    expect(await sender.admin!.stats('default')).toMatchObject([{ ready: 1, leased: 0 }]);
    await sender.admin!.setPaused('default', false);
    expect(await fetched).toMatchObject([{ attempt: 1, interrupted: false }]);
  });

  it.each(['is aborted', 'is closed'])('that %s loses no job', async (how) => {
    const { backend: sender, prefix } = open();
    await sender.admin!.stats();
    for (let round = 0; round < 20; round++) {
      const { backend: waiter } = open({ prefix });
      const stop = new AbortController();
      const fetched = waiter.fetch({ ...idle, signal: stop.signal });
      await waiting(prefix);
      const enqueued = sender.enqueue([message({ id: `id-${round}` })]);
      if (round % 3 > 0) await delay(round % 3); // so that the stop comes before the job, with it and after it
      if (how === 'is aborted') stop.abort();
      else await waiter.close();
      await enqueued;
      const leases = [...(await fetched), ...(await sender.fetch(take))];
      expect(leases).toMatchObject([{ attempt: 1, interrupted: false }]);
      expect(await sender.ack(leases.map((lease) => ({ lease })))).toEqual([true]);
      await waiter.close();
      await until(async () => (await listeners(prefix)) === 0);
    }
  });

  it.each(['is killed', 'is frozen'])('that %s leaves the next job to another one', async (how) => {
    const proxy = await startProxy(server.url);
    const { backend: lost, prefix } = open({ url: proxy.url });
    const { backend: sender } = open({ prefix });
    const abandoned = lost.fetch(idle).catch(() => []);
    await waiting(prefix);
    const fetched = open({ prefix }).backend.fetch(idle);
    await waiting(prefix, 2);
    if (how === 'is frozen') expect(proxy.silence('')).toBe(2);
    else await proxy.close();
    if (how === 'is killed') await until(async () => (await listeners(prefix)) === 1);
    await sender.enqueue(many(1));
    expect(await fetched).toMatchObject([{ attempt: 1, interrupted: false }]);
    if (how === 'is frozen') await proxy.close();
    await lost.close();
    expect(await abandoned).toEqual([]);
  });

  it('is woken where a release that leased jobs for idle workers has left its marks', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const mark = `1${Date.now() + 60_000}${'60000'.padStart(10, '0')}old-process`;
    await server.command('HSET', `${prefix}:{default}:info`, 'idle', mark);
    const fetched = waiter.fetch(idle);
    await until(async () => (await listeners(prefix)) === 1);
    await sender.enqueue(many(1));
    expect(await fetched).toMatchObject([{ attempt: 1, interrupted: false }]);
    expect(await isMarked(prefix)).toBe(false);
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

  it('finds a job although the connection on which it listens has died unnoticed', async () => {
    const proxy = await startProxy(server.url);
    const { backend: waiter, prefix } = open({ url: proxy.url, silenceMs: 1_000 }); // it may not have heard yet that it is subscribed
    const { backend: sender } = open({ prefix });
    const fetched = waiter.fetch(idle);
    await until(async () => (await listeners(prefix)) === 1);
    expect(proxy.silence(':ring')).toBe(1);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    // It has found a job without having been woken, so it listens anew.
    const next = waiter.fetch(idle);
    await until(async () => (await listeners(prefix)) === 2); // the server still counts the dead connection
    await sender.enqueue([message({ id: 'next' })]);
    expect(await next).toHaveLength(1);
    await waiter.close();
    await sender.close();
    await proxy.close();
  });

  it('listens anew when the network swallows its subscription', async () => {
    const proxy = await startProxy(server.url);
    proxy.silenceNext('subscribe');
    const { backend: waiter, prefix } = open({ url: proxy.url, silenceMs: 1_000 });
    const { backend: sender } = open({ prefix });
    const fetched = waiter.fetch({ ...idle, waitMs: 20_000 });
    await until(async () => (await listeners(prefix)) === 1);
    await sender.enqueue(many(1));
    expect(await fetched).toHaveLength(1);
    await sender.close();
    await waiter.close();
    await proxy.close();
  });

  it('notices that the network swallows its commands, and connects anew', async () => {
    const proxy = await startProxy(server.url);
    const { backend } = open({ url: proxy.url, silenceMs: 1_000 });
    await backend.enqueue(many(1));
    expect(proxy.silence('EVAL')).toBe(1);
    await expect(backend.fetch(take)).rejects.toMatchObject({
      code: 'BACKEND',
      message: 'Redis failed during leasing: the server has not answered for 1000 ms.',
    });
    expect(await backend.fetch(take)).toHaveLength(1);
    await backend.close();
    await proxy.close();
  });
});
