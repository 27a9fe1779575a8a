/** Jobs that are leased to an idle worker in the moment in which they are enqueued. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { JobLease } from '../../../core/contract/queue.ts';
import { connect } from '../../../core/enqueue/connect.ts';
import { until } from '../../kit/until.ts';
import { startProxy } from '../postgres/proxy.ts';
import { message } from '../sqlite/messages.ts';
import { callsOf, open, server } from './kit.ts';
import { app, greet } from './waiter.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

const wait = { queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 20_000, idle: true };
const look = { queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 0 };
let ids = 0;
const fresh = (parts: object = {}) => message({ id: `id-${++ids}`, hints: { isNew: true }, ...parts });
const idOf = ({ token }: JobLease) => token.slice(24);

/** The processes that have a seat, by the name with which tokens of what they are handed begin. */
async function seatsOf(prefix: string, queue = 'default'): Promise<string[]> {
  const idle = (await server.command('HGET', `${prefix}:{${queue}}:info`, 'idle')) as string | null;
  return Array.from({ length: ((idle?.length ?? 1) - 1) / 34 }, (_, i) =>
    idle!.slice(24 + i * 34, 35 + i * 34),
  );
}

const seated = (prefix: string, queue?: string) =>
  until(async () => (await seatsOf(prefix, queue)).at(-1) ?? null);

const claims = () => callsOf('evalsha');

/** A worker that waits, with a seat, and somebody else who can send. */
async function idleWorker() {
  const { backend: waiter, prefix } = open();
  const { backend: sender } = open({ prefix });
  const fetched = waiter.fetch(wait);
  return { waiter, sender, prefix, fetched, seat: await seated(prefix) };
}

describe('a job for an idle worker', () => {
  it('comes with its lease, and nobody is asked for it', async () => {
    const { waiter, sender, prefix, fetched, seat } = await idleWorker();
    await sender.admin!.stats();
    const before = await claims();
    const job = fresh();
    expect(await sender.enqueue([job])).toEqual([{ ok: true, id: job.id, duplicate: false }]);
    const [lease] = await fetched;
    expect((await claims()) - before).toBe(1);
    expect(lease).toMatchObject({ queue: 'default', body: job.body, attempt: 1, interrupted: false });
    expect(lease!.token.startsWith(seat)).toBe(true);
    const end = Number(await server.command('ZSCORE', `${prefix}:{default}:leases`, lease!.token));
    expect(lease!.expiresAt).toBeLessThanOrEqual(end); // one host, one clock
    expect(lease!.expiresAt).toBeGreaterThan(end - 1_000);
    expect(await waiter.stores!.records.get(job.id)).toMatchObject({ status: 'processing' });
    expect(await waiter.renew([lease!], 60_000)).toEqual([true]);
    expect(await waiter.ack([{ lease: lease! }])).toEqual([true]);
    expect(await waiter.ack([{ lease: lease! }])).toEqual([false]);
  });

  it('wakes one of many', async () => {
    const { backend: sender, prefix } = open();
    await sender.admin!.stats();
    const waiters = [1, 2, 3].map(() => open({ prefix }).backend);
    const fetches = waiters.map((waiter) => waiter.fetch(wait));
    await until(async () => (await seatsOf(prefix)).length === 3);
    const before = await claims();
    for (let i = 0; i < 3; i++) await sender.enqueue([fresh()]);
    const leases = (await Promise.all(fetches)).flat();
    expect(new Set(leases.map(idOf)).size).toBe(3);
    expect((await claims()) - before).toBe(3);
  });

  it.each<[what: string, parts: object]>([
    ['may begin only once', { repeatable: false }],
    ['has an id that may have come before', { hints: {} }],
  ])('is only notified for when it %s', async (_what, parts) => {
    const { sender, fetched, seat } = await idleWorker();
    await sender.enqueue([fresh(parts)]);
    const [lease] = await fetched;
    expect(lease!.token.startsWith(seat)).toBe(false);
  });

  it('waits while the queue is paused', async () => {
    const { sender, fetched } = await idleWorker();
    await sender.admin!.pause('default');
    await sender.enqueue([fresh()]);
    expect(await sender.admin!.stats('default')).toMatchObject([{ ready: 1, leased: 0 }]);
    await sender.admin!.resume('default');
    expect(await fetched).toMatchObject([{ attempt: 1 }]);
  });

  it('waits behind those who were there before it', async () => {
    const { waiter, sender, prefix, fetched } = await idleWorker();
    const { backend: silent } = open({ prefix, listen: false });
    const [first, second] = [fresh(), fresh({ priority: 0 })];
    await silent.enqueue([first]); // nobody is notified
    await sender.enqueue([fresh({ priority: 9 })]);
    expect((await fetched).map(idOf)).toEqual([first.id]);
    await sender.enqueue([second]);
    expect((await waiter.fetch(wait)).map(idOf)).toEqual([second.id]);
  });

  it('waits behind one that is due', async () => {
    const { sender, prefix, fetched } = await idleWorker();
    const { backend: silent } = open({ prefix, listen: false });
    const due = fresh({ notBefore: Date.now() + 30 });
    await silent.enqueue([due]);
    expect(await seatsOf(prefix)).toEqual([]);
    await delay(50); // until it is due, and nobody has looked
    await sender.enqueue([fresh()]);
    expect((await fetched).map(idOf)).toEqual([due.id]);
  });
});

describe('what is said on the channel of a worker', () => {
  it.each([
    '',
    'a\nb\nc',
    '\n\n\n',
    'x:{default}\n9999999999999\nno-token-that-anybody-has\n\n\nno envelope',
  ])('by somebody else is no job: %j', async (said) => {
    const { sender, prefix, fetched, seat } = await idleWorker();
    const listening = async () =>
      String(await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub')).match(/^id=\d+/gm);
    const before = await listening();
    expect(await server.command('PUBLISH', `${prefix}:hand:${seat}`, said)).toBe(1);
    const job = fresh();
    await sender.enqueue([job]);
    expect((await fetched).map(idOf)).toEqual([job.id]);
    expect(await listening()).toEqual(before); // one whose listener throws is given up
  });
});

describe('a worker that is idle in two queues and has room for one job', () => {
  it('gives the second one back as if it had never had it', async () => {
    const { backend: waiter, prefix } = open();
    const { backend: sender } = open({ prefix });
    const { backend: other } = open({ prefix });
    const queues = ['a', 'b'];
    await Promise.all([sender.admin!.stats(), other.admin!.stats()]);
    for (let round = 0; round < 20; round++) {
      const fetched = waiter.fetch({ ...wait, queues });
      for (const queue of queues) await seated(prefix, queue);
      await Promise.all([sender.enqueue([fresh({ queue: 'a' })]), other.enqueue([fresh({ queue: 'b' })])]);
      const [first, ...more] = await fetched;
      expect(more).toEqual([]);
      const [second] = await other.fetch({ ...wait, queues, waitMs: 1_500 });
      expect(second).toMatchObject({ attempt: 1, interrupted: false });
      expect(second!.queue).not.toBe(first!.queue);
      expect(await other.ack([{ lease: first! }, { lease: second! }])).toEqual([true, true]);
    }
  });
});

describe('a worker that stops waiting', () => {
  it.each(['is aborted', 'is closed'])('and %s takes no job along', async (how) => {
    const { backend: sender, prefix } = open();
    await sender.admin!.stats();
    for (let round = 0; round < 20; round++) {
      const { backend: waiter } = open({ prefix });
      const stop = new AbortController();
      const fetched = waiter.fetch({ ...wait, signal: stop.signal });
      await seated(prefix);
      const enqueued = sender.enqueue([fresh()]);
      if (round % 3 > 0) await delay(round % 3); // so that the stop comes before the job, with it and after it
      if (how === 'is aborted') stop.abort();
      else await waiter.close();
      const [lease] = await fetched;
      await enqueued;
      expect(await seatsOf(prefix)).toEqual([]);
      if (lease) {
        expect(await sender.ack([{ lease }])).toEqual([true]);
      } else {
        const [again] = await sender.fetch(look);
        expect(again).toMatchObject({ attempt: 1, interrupted: false });
        await sender.ack([{ lease: again! }]);
      }
      expect(await sender.admin!.stats('default')).toMatchObject([{ ready: 0, leased: 0 }]);
    }
  });
});

describe('a job that is handed to a worker', () => {
  const script = join(import.meta.dirname, 'waiter.ts');

  async function waiting(prefix: string, leaseMs: number) {
    const args = ['--disable-warning=ExperimentalWarning', script, server.url, prefix, `${leaseMs}`];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const told: unknown[] = [];
    createInterface(child.stdout!).on('line', (line) => told.push(JSON.parse(line)));
    await seated(prefix);
    return { child, told };
  }

  it('who was killed goes to the next one', async () => {
    const { backend, prefix } = open();
    const { backend: other } = open({ prefix });
    const fetched = other.fetch(wait);
    const mine = await seated(prefix);
    const { child } = await waiting(prefix, 60_000);
    await until(async () => (await seatsOf(prefix)).length === 2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const channels = async () => (await server.command('PUBSUB', 'CHANNELS', `${prefix}:hand:*`)) as string[];
    await until(async () => (await channels()).length === 1);
    const { id } = await connect(app, backend).enqueue(greet, {});
    const [lease] = await fetched;
    expect(idOf(lease!)).toBe(id);
    expect(lease).toMatchObject({ attempt: 1, interrupted: false });
    expect(lease!.token.startsWith(mine)).toBe(true);
  });

  it('who is frozen comes back when the lease ends, and does not run there any more', async () => {
    const { backend, prefix } = open();
    const { child, told } = await waiting(prefix, 1_000);
    child.kill('SIGSTOP');
    const { id } = await connect(app, backend).enqueue(greet, {});
    expect(await backend.admin!.stats('default')).toMatchObject([{ ready: 0, leased: 1 }]);
    await until(async () => (await backend.reapExpired('default')) === 1);
    const [lease] = await backend.fetch(look);
    expect(lease).toMatchObject({ attempt: 2, interrupted: true });
    child.kill('SIGCONT');
    await seated(prefix); // it is awake, has read all and waits again
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    const next = await connect(app, backend).enqueue(greet, {});
    await until(async () => told.length > 0);
    expect(told).toEqual([{ id: next.id, attempt: 1, previouslyCrashed: false }]);
    expect(await backend.stores!.records.get(id)).toMatchObject({ status: 'completed' });
  });

  it('who was asleep for longer than the lease is given back uncounted when nobody else has missed it', async () => {
    const { backend, prefix } = open();
    const { child, told } = await waiting(prefix, 1_000);
    child.kill('SIGSTOP');
    const { id } = await connect(app, backend).enqueue(greet, {});
    await delay(1_500); // the sleep itself
    child.kill('SIGCONT');
    await until(async () => told.length > 0);
    expect(told).toEqual([{ id, attempt: 1, previouslyCrashed: false }]);
  });

  it('whose connection has died in silence is the only one that it swallows', async () => {
    const proxy = await startProxy(server.url);
    const { backend: waiter, prefix } = open({ url: proxy.url, silenceMs: 1_000 });
    const { backend: sender } = open({ prefix });
    let fetched = waiter.fetch({ ...wait, leaseMs: 500 });
    await seated(prefix);
    expect(proxy.silence(':hand:')).toBe(1);
    const swallowed = fresh();
    await sender.enqueue([swallowed]);
    // Whoever looks again finds that its seat was taken, and takes none before the connection has been tried.
    await until(async () => (await seatsOf(prefix)).length === 1);
    await sender.enqueue([fresh({ repeatable: false })]);
    const found: JobLease[] = await fetched;
    await until(async () => (await sender.reapExpired('default')) === 1);
    const [back] = await sender.fetch(look);
    expect(back).toMatchObject({ attempt: 2, interrupted: true });
    expect(idOf(back!)).toBe(swallowed.id);
    await sender.ack([...found, back!].map((lease) => ({ lease })));
    fetched = waiter.fetch(wait);
    await seated(prefix);
    const heard = fresh();
    await sender.enqueue([heard]);
    expect((await fetched).map(idOf)).toEqual([heard.id]);
    await waiter.close();
    await proxy.close();
  });
});
