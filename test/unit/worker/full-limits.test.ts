/** A worker beside queues whose limits are full, in virtual time: jobs take 10 ms, and a fetch takes 1 ms. */

import { describe, expect, it } from 'vitest';
import { createQueues, jobMs } from './queues-kit.ts';
import '../../../core/features/limits/door.ts'; // a worker loads it with the first limit, in real time

const longMs = 60_000;

describe.each([
  ['job', { jobs: { import: { concurrency: { limit: 4 } } } }],
  ['queue', { queues: { import: { concurrency: { limit: 4 } } } }],
] as const)('a queue whose jobs are bound by a concurrency of the %s', (_, options) => {
  it('fills its limit, and gives no job back', async () => {
    const t = createQueues({}, options);
    await t.enqueue('import', 400);
    const worker = t.start({ concurrency: 8 });
    await t.pass(50);
    const before = t.countOf('import');
    await t.pass(300);
    expect(t.countOf('import') - before).toBeGreaterThanOrEqual(90); // of 120, with a fetch of 1 ms before each
    expect(t.peakOf('import')).toBe(4);
    expect(t.released()).toBe(0);
    await t.stop(worker);
  });

  it('leaves the other slots to the other queues', async () => {
    const t = createQueues({ import: longMs }, options);
    await t.enqueue('import', 400);
    const worker = t.start({ concurrency: 8 });
    await t.pass(20);
    await t.enqueue('mail', 400);
    await t.pass(40);
    const before = t.countOf('mail');
    await t.pass(300);
    expect(t.peakOf('mail')).toBe(4);
    expect(t.countOf('mail') - before).toBeGreaterThanOrEqual(100); // of 120
    expect(t.countOf('import')).toBe(4);
    expect(t.released()).toBe(0);
    t.clock.advance(longMs);
    await t.stop(worker);
  });

  it('does not delay a mail', async () => {
    const t = createQueues({}, options);
    await t.enqueue('import', 2_000);
    const worker = t.start({ concurrency: 8 });
    await t.pass(60);
    for (let i = 0; i < 20; i++) {
      await t.enqueue('mail', 1);
      await t.pass(37);
    }
    const waits = t.begun.filter(({ queue }) => queue === 'mail').map(({ waitedMs }) => waitedMs);
    expect(waits).toHaveLength(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * jobMs + 5);
    await t.stop(worker);
  });

  it('is asked for one job a second while nothing ends, so that a reset is noticed', async () => {
    const t = createQueues({ import: longMs }, options);
    await t.enqueue('import', 400);
    const worker = t.start({ concurrency: 8 });
    await t.pass(20);
    const { key } = (await t.backend.stores!.limits!.list({}))[0]!;
    await t.pass(3_500);
    expect(t.countOf('import')).toBe(4);
    expect(t.released()).toBe(3);
    await t.backend.stores!.limits!.reset(key);
    await t.pass(1_010);
    expect(t.countOf('import')).toBe(5);
    t.clock.advance(longMs);
    await t.stop(worker);
  });

  it('is shared by two workers, and taken over from one that has died', async () => {
    const t = createQueues({ import: 40 }, options);
    await t.enqueue('import', 2_000);
    const key = 'jobs' in options ? 'job:import:concurrency' : 'queue:import:concurrency';
    await t.holdTwo(key, 4, 2_000);
    const workers = [t.start({ concurrency: 8 }), t.start({ concurrency: 8 })];
    await t.pass(500);
    expect(t.peakOf('import')).toBe(2);
    const released = t.released();
    await t.pass(1_000);
    expect(t.released() - released).toBeLessThanOrEqual(6);
    await t.pass(2_000);
    expect(t.peakOf('import')).toBe(4);
    const before = t.countOf('import');
    await t.pass(400);
    expect(t.countOf('import') - before).toBeGreaterThanOrEqual(32); // of 40
    const stopping = workers.map((worker) => worker.stop());
    await t.pass(60);
    await Promise.all(stopping);
  });
});

it('a rate begins its jobs in time, and gives none back', async () => {
  const t = createQueues({}, { jobs: { import: { rate: { limit: 10, perMs: 1_000, smooth: true } } } });
  await t.enqueue('import', 400);
  await t.enqueue('mail', 400);
  const worker = t.start({ concurrency: 8 });
  await t.pass(400);
  expect(t.countOf('mail')).toBeGreaterThanOrEqual(250);
  await t.pass(2_000);
  expect(t.countOf('import')).toBeGreaterThanOrEqual(22);
  expect(t.countOf('import')).toBeLessThanOrEqual(25);
  expect(t.released()).toBe(0);
  await t.stop(worker);
});

it('a rate that other workers have used is asked again when its next slot is free', async () => {
  const t = createQueues({}, { queues: { import: { rate: { limit: 2, perMs: 400 } } } });
  await t.enqueue('import', 400);
  await t.holdTwo('queue:import:rate', 2, 400);
  const worker = t.start({ concurrency: 8 });
  await t.pass(395);
  expect(t.countOf('import')).toBe(0);
  expect(t.released()).toBe(2);
  await t.pass(20);
  expect(t.countOf('import')).toBe(2);
  await t.stop(worker);
});

it('a queue is fetched as a whole after a job that the app names for another queue', async () => {
  const t = createQueues({ import: longMs }, { jobs: { import: { concurrency: { limit: 2 } } } });
  await t.client.enqueue(t.jobs.mail, { n: 0, at: 0 }, { queue: 'import' });
  await t.enqueue('import', 40);
  await t.client.enqueue(t.jobs.mail, { n: 1, at: 0 }, { queue: 'import' });
  const worker = t.start({ concurrency: 8 });
  await t.pass(60);
  expect([t.countOf('import'), t.countOf('mail')]).toEqual([2, 2]);
  expect(t.released()).toBe(38);
  t.clock.advance(longMs);
  await t.stop(worker);
});

it.each([
  ['that other workers hold', { concurrency: { limit: 2 } }, 'concurrency', 0],
  ['of a rate', { rate: { limit: 2, perMs: 60_000 } }, 'rate', 2],
] as const)('ends with untilIdle when only jobs wait for slots %s', async (_, limits, kind, ran) => {
  const t = createQueues({}, { jobs: { import: limits } });
  await t.enqueue('import', 40);
  await t.enqueue('mail', 10);
  if (ran === 0) await t.holdTwo(`job:import:${kind}`, 2, 60_000);
  const worker = t.start({ concurrency: 8, untilIdle: true });
  await t.pass(200);
  expect(await worker.done).toMatchObject({ reason: 'idle' });
  expect([t.countOf('import'), t.countOf('mail')]).toEqual([ran, 10]);
});

it('leaves out no queue for long while the store of limits is away', async () => {
  const t = createQueues({}, { queues: { import: { concurrency: { limit: 4 } } } });
  await t.enqueue('import', 100);
  const limits = t.backend.stores!.limits!;
  let isAway = true;
  const take: typeof limits.take = (requests) =>
    isAway ? Promise.reject(new Error('The store is away.')) : limits.take(requests);
  const backend = { ...t.backend, stores: { ...t.backend.stores!, limits: { ...limits, take } } };
  const worker = t.start({ concurrency: 8, backend });
  await t.enqueue('mail', 20);
  await t.pass(3_000);
  expect([t.countOf('import'), t.countOf('mail')]).toEqual([0, 20]);
  isAway = false;
  await t.pass(1_100);
  expect(t.countOf('import')).toBeGreaterThan(0);
  await t.stop(worker);
});

it('a worker with slots per queue leaves the slots of a full queue unused, and ends when it is idle', async () => {
  const t = createQueues({}, { queues: { import: { concurrency: { limit: 2 } } } });
  await t.enqueue('import', 40);
  await t.enqueue('mail', 40);
  const worker = t.start({ queues: { import: 4, mail: 4 }, untilIdle: true });
  await t.pass(400);
  expect(await worker.done).toMatchObject({ reason: 'idle', counts: { acked: 80 } });
  expect([t.peakOf('import'), t.peakOf('mail'), t.released()]).toEqual([2, 4, 0]);
});
