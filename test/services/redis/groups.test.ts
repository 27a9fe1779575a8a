/** What Redis keeps of groups, and how it gets along with what others do to its keys. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobLease, QueueBackend } from '../../../core/contract/queue.ts';
import { movable } from '../../../local/move/contract.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { groupsAtOnce } from '../sqlite/groups-at-once.ts';
import { message } from '../sqlite/messages.ts';
import { callsOf, many, open, server, take } from './kit.ts';

const queue = 'default';
const ordered = { group: 'a', order: 'wait' } as const;
const fetch = (from: QueueBackend, max = 10) => from.fetch({ ...take, max });
const bodiesOf = (leases: readonly JobLease[]) => leases.map(({ body }) => body);
const keysOf = async (prefix: string) =>
  ((await server.command('KEYS', `${prefix}:{${queue}}*`)) as string[])
    .map((key) => key.split('}:')[1])
    .sort();
const named = (id: string, parts: object = ordered) => message({ id, body: id, ...parts });

let watched: string;
/** A worker listens, and has found nothing since the last notification. */
async function untilIdle(): Promise<void> {
  const base = `${watched}:{${queue}}`;
  await until(async () => {
    const [, listeners] = (await server.command('PUBSUB', 'NUMSUB', `${base}:ring`)) as [string, number];
    return listeners === 1 && (await server.command('HEXISTS', `${base}:info`, 'idle')) === 1;
  });
}

describe('groups in Redis', () => {
  it('keep nothing of jobs without a group, and nothing of jobs that have ended', async () => {
    const { backend, prefix } = open({ retention: { completedMs: 0 } });
    await backend.enqueue(many(10));
    expect(await keysOf(prefix)).toEqual(['jobs', 'ready']);
    await backend.enqueue([
      ...many(20, { group: 'a' }).map((one, i) => ({ ...one, id: `fair-${i}` })),
      ...many(20, ordered).map((one, i) => ({ ...one, id: `ordered-${i}` })),
      named('later', { ...ordered, notBefore: Date.now() + 3_600_000 }),
    ]);
    expect(await keysOf(prefix)).toEqual(
      ['delayed', 'grouped', 'heads', 'info', 'jobs', 'lined', 'lines', 'ready'].sort(),
    );
    await backend.pending!.change([{ queue, id: 'later' }], { notBefore: null });
    for (let leases = await fetch(backend); leases.length > 0; leases = await fetch(backend)) {
      const [first, ...others] = leases;
      await backend.nack(first!, { delayMs: 0, countAttempt: true });
      await backend.ack(others.map((lease) => ({ lease })));
      await backend.ack((await fetch(backend, 1)).map((lease) => ({ lease })));
    }
    expect(await keysOf(prefix)).toEqual([]);
  });

  it.each([
    ['whose head was deleted', 0],
    ['whose running job was deleted', 1],
  ])('that are left without a head, %s, get one when the queue is reaped', async (_, running) => {
    const { backend, prefix } = open();
    await backend.enqueue([named('first'), named('next')]);
    expect(await fetch(backend, running)).toHaveLength(running);
    const base = `${prefix}:{${queue}}`;
    await server.command('DEL', `${base}:ready`, `${base}:leases`);
    await server.command('HDEL', `${base}:jobs`, 'first');
    expect(await fetch(backend)).toEqual([]);
    await backend.reapExpired(queue);
    expect(bodiesOf(await fetch(backend))).toEqual(['next']);
  });

  it('are run one at a time and never stuck while all change them at once', async () => {
    const { backend, prefix } = open({ retention: { completedMs: 0 } });
    const others = [1, 2].map(() => open({ prefix, retention: { completedMs: 0 } }).backend);
    await groupsAtOnce([backend, ...others]);
    expect(await keysOf(prefix)).toEqual([]);
  }, 60_000);

  it('go on with the job of a worker that was killed, and with the next one behind it', async () => {
    const { backend, prefix } = open();
    await backend.enqueue([named('first'), named('next')]);
    const holder = spawn(process.execPath, [
      join(import.meta.dirname, 'holder.ts'),
      server.url,
      prefix,
      '1000',
    ]);
    const [printed] = (await once(holder.stdout, 'data')) as [Buffer];
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const [stale] = JSON.parse(printed.toString()) as JobLease[];
    expect(stale!.body).toBe('first');
    expect(await fetch(backend)).toEqual([]);
    await until(async () => (await backend.reapExpired(queue)) === 1);
    const [again, ...more] = await fetch(backend);
    expect(again).toMatchObject({ body: 'first', attempt: 2, interrupted: true });
    expect(more).toEqual([]);
    expect(await backend.ack([{ lease: stale! }])).toEqual([false]);
    expect(await fetch(backend)).toEqual([]);
    expect(await backend.ack([{ lease: again! }])).toEqual([true]);
    expect(bodiesOf(await fetch(backend))).toEqual(['next']);
  });

  it.each<[string, number, (by: QueueBackend, first: JobLease) => Promise<unknown>]>([
    ['done', 1, (by, lease) => by.ack([{ lease }])],
    ['dead', 1, (by, lease) => by.abandon(lease, { reason: 'permanent', error: 'HANDLER: no' })],
    [
      'cancelled while it waits for its retry',
      2, // the first one comes from the nack
      async (by, lease) => {
        await by.nack(lease, { delayMs: 600_000, countAttempt: true });
        await untilIdle();
        await by.stores!.records.cancel('first');
      },
    ],
    [
      'removed while it waits for its retry',
      2,
      async (by, lease) => {
        await by.nack(lease, { delayMs: 600_000, countAttempt: true });
        await untilIdle();
        await by.pending!.remove({ queue, id: 'first' });
      },
    ],
  ])('wake an idle worker when the job before its own is %s', async (_, notifications, end) => {
    const { backend: ending, prefix } = open();
    const { backend: idle } = open({ prefix });
    watched = prefix;
    await ending.enqueue([named('first'), named('next')]);
    const [first] = await fetch(ending);
    const fetched = idle.fetch({ ...take, waitMs: 60_000 });
    await untilIdle();
    const before = await callsOf('publish');
    await end(ending, first!);
    expect(bodiesOf(await fetched)).toEqual(['next']);
    expect((await callsOf('publish')) - before).toBe(notifications);
  });

  it('are healed some at a time, and all in the end', async () => {
    const { backend, prefix } = open();
    const messages = Array.from({ length: 300 }, (_, i) => [
      named(`first-${i}`, { group: `g${i}` }),
      named(`next-${i}`, { group: `g${i}` }),
    ]);
    await backend.enqueue(messages.flat());
    const base = `${prefix}:{${queue}}`;
    await server.command('DEL', `${base}:ready`);
    await server.command('HDEL', `${base}:jobs`, ...messages.map(([first]) => first!.id));
    for (let round = 0; round < 4; round++) await backend.reapExpired(queue);
    expect(await fetch(backend, 1_000)).toHaveLength(300);
  });
});

/** What the release before this one does with the keys: it knows no groups. */
describe('a process of the release without groups', () => {
  /** It leases what is ready, and deletes what is done. */
  async function runOld(prefix: string): Promise<string[]> {
    const base = `${prefix}:{${queue}}`;
    const members = (await server.command('ZRANGE', `${base}:ready`, '0', '-1')) as string[];
    const ids = members.map((member) => member.slice(12));
    if (ids.length === 0) return ids;
    await server.command('ZREM', `${base}:ready`, ...members);
    await server.command('HDEL', `${base}:jobs`, ...ids);
    return ids;
  }

  it('runs heads beside this one, and holds up a group no longer than until the queue is reaped', async () => {
    const { backend, prefix } = open();
    await backend.enqueue([
      named('a1'),
      named('a2'),
      named('f1', { group: 'f' }),
      named('f2', { group: 'f' }),
    ]);
    expect((await runOld(prefix)).sort()).toEqual(['a1', 'f1']);
    expect(await fetch(backend)).toEqual([]);
    await backend.reapExpired(queue);
    expect((await runOld(prefix)).sort()).toEqual(['a2', 'f2']);
    await backend.reapExpired(queue);
    expect(await keysOf(prefix)).toEqual([]);
  });

  it('has left jobs with a group, which run as if they had none', async () => {
    const { backend, prefix } = open();
    const base = `${prefix}:{${queue}}`;
    for (const [i, id] of ['x', 'y'].entries()) {
      const sortKey = `0000000000${i}5`;
      await server.command('HSET', `${base}:jobs`, id, `${sortKey} ${Date.now()}\n["test"]\n${id}`);
      await server.command('ZADD', `${base}:ready`, `${Date.now()}`, `${sortKey}${id}`);
    }
    await server.command('SADD', `${prefix}:queues`, queue);
    await backend.enqueue([named('new'), named('newer')]);
    const leases = await fetch(backend);
    expect(bodiesOf(leases).sort()).toEqual(['new', 'x', 'y']);
    const [x] = leases.filter(({ body }) => body === 'x');
    expect(await backend.nack(x!, { delayMs: 0, countAttempt: true })).toBe(true);
    expect(bodiesOf(await fetch(backend))).toEqual(['x']);
  });
});

describe('a group in Redis', () => {
  it('may have any name, and gets it back wherever its jobs go', async () => {
    const { backend } = open();
    const group = `{a} "b" \\ ü ${'x'.repeat(200)}`;
    await backend.enqueue([named('one', { group, order: 'step-aside', facts: { name: 'n' } })]);
    const [lease] = await fetch(backend);
    await backend.abandon(lease!, { reason: 'permanent', error: 'HANDLER: no' });
    const { deadLetters } = backend.admin!;
    await deadLetters.retry(['one'], new Map([['one', { body: 'edited', facts: { name: 'm' } }]]));
    const [held] = await movable(backend).transfer!.hold(queue, 1);
    expect(held!.message).toMatchObject({ group, order: 'step-aside', body: 'edited', facts: { name: 'm' } });
    expect(await backend.stores!.records.get('one')).not.toHaveProperty('grouping');
  });

  it('tells since when its head is ready, not since when it is the head', async () => {
    const clock = createVirtualClock();
    const { backend } = open({ clock });
    await backend.enqueue([named('one'), named('two')]);
    await clock.advance(60_000);
    await backend.ack((await fetch(backend, 1)).map((lease) => ({ lease })));
    expect(await backend.admin!.stats(queue)).toMatchObject([{ ready: 1, oldestReadyMs: 60_000 }]);
  });

  it('moves within its line with a new priority, unless it is ordered', async () => {
    const { backend } = open();
    const fair = { group: 'f' };
    await backend.enqueue(['f1', 'f2', 'f3'].map((id) => named(id, fair)));
    await backend.enqueue(['a1', 'a2', 'a3'].map((id) => named(id)));
    for (const id of ['f3', 'a3'])
      expect(await backend.pending!.change([{ queue, id }], { priority: 0 })).toEqual([true]);
    const bodies: string[] = [];
    for (let leases = await fetch(backend, 1); leases.length > 0; leases = await fetch(backend, 1)) {
      bodies.push(...bodiesOf(leases));
      await backend.ack(leases.map((lease) => ({ lease })));
    }
    expect(bodies.filter((body) => body.startsWith('f'))).toEqual(['f1', 'f3', 'f2']);
    expect(bodies.filter((body) => body.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('fills a fetch from several queues', async () => {
    const { backend } = open();
    await backend.enqueue(many(30, { group: 'a' }));
    await backend.enqueue([named('other', { queue: 'other' })]);
    const leases = await backend.fetch({ ...take, queues: ['other', queue], max: 20 });
    expect(leases).toHaveLength(20);
  });
});
