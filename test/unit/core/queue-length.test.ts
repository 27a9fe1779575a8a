/** The longest length of a queue: what finds no room is refused, alone. */

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { createApp } from '../../../core/features/table.ts';
import type { QueueOptions } from '../../../core/kernel/app/queues.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { directoryPayloads } from '../../../local/index.ts';
import { bench, job, refusal, refusalText, ring } from './kit.ts';

const mail = job({ name: 'mail', queue: 'mail' });
const other = job({ name: 'other', queue: 'other' });
const limited = (maxLength: number, options: Partial<Parameters<typeof bench>[0]> = {}) =>
  bench({ jobs: [mail, other], queues: { mail: { maxLength } }, ...options });

/** A client of another process: it shares the queue and nothing else. */
const elsewhere = (b: ReturnType<typeof bench>) => connect(b.app, { ...b.backend });

/** Counts as `stats` does. */
function counting(backend: QueueBackend, stats: NonNullable<QueueBackend['admin']>['stats']): QueueBackend {
  return { ...backend, admin: { ...backend.admin!, stats } };
}

describe('a queue with maxLength', () => {
  it('takes that many jobs, ready or delayed, and refuses the next', async () => {
    const b = limited(3);
    await b.client.enqueue(mail, 1);
    await b.client.enqueue(mail, 2, { delayMs: 60_000 });
    await b.client.enqueue(mail, 3);
    expect(await refusalText(() => b.client.enqueue(mail, 4))).toBe(
      'QUEUE_FULL: Queue "mail" is full: 3 jobs are waiting (maxLength). This job was not enqueued. Enqueue it again later, or run more workers.',
    );
    await b.client.enqueue(other, 5);
    const [stats] = await b.backend.admin!.stats('mail');
    expect([stats!.ready, stats!.delayed]).toEqual([2, 1]);
  });

  it('has room again, within a second, when jobs have begun', async () => {
    const b = limited(1);
    await b.client.enqueue(mail, 1);
    await b.next();
    expect((await refusal(() => b.client.enqueue(mail, 2))).code).toBe('QUEUE_FULL');
    b.clock.advance(1_000);
    await b.client.enqueue(mail, 2);
  });

  it('learns within a second what another process has sent', async () => {
    const b = limited(2);
    await b.client.enqueue(mail, 1);
    const there = elsewhere(b);
    await there.enqueue(mail, 2);
    await b.client.enqueue(mail, 3);
    b.clock.advance(1_000);
    for (const client of [b.client, there])
      expect((await refusal(() => client.enqueue(mail, 4))).code).toBe('QUEUE_FULL');
  });

  it('takes of many at once as many as there is room for', async () => {
    const b = limited(2);
    const both = [mail, other, mail, mail, other].map((one, n) => ({ job: one, payload: n }));
    const results = await b.client.enqueueMany(both);
    expect(results.map((result) => (result.ok ? result.id : result.error.code))).toEqual([
      'id-1',
      'id-2',
      'id-3',
      'QUEUE_FULL',
      'id-5',
    ]);
    const calls = await Promise.allSettled([1, 2, 3].map((n) => b.client.enqueue(mail, n)));
    expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('lets calls at the same time share the room', async () => {
    const b = limited(2);
    const calls = await Promise.allSettled([1, 2, 3, 4].map((n) => b.client.enqueue(mail, n)));
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
  });

  it('keeps no payload of a job that it refuses', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'longshore-length-'));
    const b = limited(1, { stores: { payloads: directoryPayloads(folder) }, maxBodyBytes: 2_048 });
    const large = 'x'.repeat(4_000);
    const results = await b.client.enqueueMany(mail, [large, large]);
    expect(results.map(({ ok }) => ok)).toEqual([true, false]);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^id-1\./)]);
    await rm(folder, { recursive: true });
  });

  it('is counted once a second at most, and other queues never', async () => {
    const b = limited(1_000);
    const counted: unknown[] = [];
    const client = connect(
      b.app,
      counting(b.backend, (queue) => {
        counted.push(queue);
        return b.backend.admin!.stats(queue);
      }),
    );
    for (let second = 0; second < 3; second++) {
      for (let n = 0; n < 5; n++) await client.enqueue(mail, n);
      await client.enqueue(other, 0);
      b.clock.advance(1_000);
    }
    expect(counted).toEqual(['mail', 'mail', 'mail']);
  });

  it('refuses nothing while it cannot be counted, and says so', async () => {
    const b = limited(1);
    let isDown = true;
    const client = connect(
      b.app,
      counting(b.backend, async (queue) => {
        if (isDown) throw new Error('no answer');
        return b.backend.admin!.stats(queue);
      }),
    );
    for (let n = 0; n < 3; n++) await client.enqueue(mail, n);
    expect(b.eventsOf('backend.failed')).toMatchObject([
      { during: 'counting queue "mail"', error: { code: 'BACKEND' } },
    ]);
    isDown = false;
    b.clock.advance(1_000);
    expect((await refusal(() => client.enqueue(mail, 4))).code).toBe('QUEUE_FULL');
  });

  it('does not wait long for a count', async () => {
    const b = limited(1);
    const client = connect(
      b.app,
      counting(b.backend, () => new Promise(() => {})),
    );
    const sending = client.enqueue(mail, 1);
    await new Promise(setImmediate);
    while (b.eventsOf('backend.failed').length === 0) {
      b.clock.advance(500);
      await new Promise(setImmediate);
    }
    await sending;
  });
});

describe('a schedule whose queue is full', () => {
  it('owes its moment until there is room', async () => {
    const hourly = defineSchedule({ name: 'hourly', everyMs: 3_600_000, job: mail, payload: null });
    const b = limited(1, { schedules: [hourly] });
    await tick(b.app, b.client);
    await b.client.enqueue(mail, 1);
    b.clock.advance(3_600_000);
    expect(await tick(b.app, b.client)).toEqual([]);
    expect(b.eventsOf('schedule.failed')).toMatchObject([
      { schedule: 'hourly', error: { code: 'QUEUE_FULL' } },
    ]);
    await b.next();
    b.clock.advance(60_000);
    expect(await tick(b.app, b.client)).toHaveLength(1);
    expect(b.eventsOf('schedule.enqueued')).toMatchObject([{ dueAt: b.clock.now() - 60_000 }]);
  });
});

describe('maxLength', () => {
  const options = (queues: Record<string, QueueOptions>) =>
    createApp({ jobs: [mail], queues, signing: ring });

  it.each([0, 1.5, -1, 'many'])('is no %s', async (maxLength) => {
    const text = await refusalText(() => options({ mail: { maxLength: maxLength as number } }));
    expect(text).toMatch(/^CONFIG: Expected maxLength of queue "mail" to be an integer of 1 or more, got /);
  });

  it.each([
    ['has no administration', ({ admin: _, ...rest }: QueueBackend) => rest],
    [
      'reads its messages to count them',
      (backend: QueueBackend) => ({
        ...backend,
        admin: { ...backend.admin!, statsScanMessages: true as const },
      }),
    ],
  ])('is refused by a backend that %s', async (_, without) => {
    const backend = without(memory());
    expect(await refusalText(() => connect(options({ mail: { maxLength: 1 } }), backend))).toBe(
      'CONFIG: Backend "memory" does not count its jobs: leave out maxLength of "mail".',
    );
    expect(connect(options({ mail: {} }), backend).backend).toBe(backend);
  });
});
