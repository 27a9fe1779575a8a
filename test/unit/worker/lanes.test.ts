/** A worker with slots per queue, in virtual time. A fetch takes 1 ms. */

import { describe, expect, it } from 'vitest';
import type { Contract, WorkerOptions } from '../../../core/index.ts';
import { createQueues, jobMs } from './queues-kit.ts';

const queues = { import: 4, mail: 2 };

/** Acks and fetches in one call, as Redis, Postgres and SQLite do. */
const refilling = (backend: Contract.QueueBackend): Contract.QueueBackend => ({
  ...backend,
  hints: {
    ...backend.hints,
    async ackAndFetch(acks, request) {
      const settled = await backend.ack(acks);
      return { settled, leases: await backend.fetch({ ...request, waitMs: 0 }) };
    },
  },
});

describe.each([
  ['alone', (backend: Contract.QueueBackend) => backend],
  ['with acks', refilling],
])('slots per queue, fetching %s', (_, made) => {
  it('hold no more jobs of a queue than it has slots, and leave the others free', async () => {
    const t = createQueues({ import: 60_000 });
    const worker = t.start({ queues, backend: made(t.backend) });
    await t.enqueue('import', 100);
    await t.pass(50);
    expect(await t.heldOf('import')).toBe(4);
    for (let i = 0; i < 5; i++) {
      await t.enqueue('mail', 2);
      await t.pass(37);
    }
    expect(t.countOf('import')).toBe(4);
    expect(t.begun.filter(({ queue }) => queue === 'mail').map(({ waitedMs }) => waitedMs)).toHaveLength(10);
    for (const { waitedMs } of t.begun.filter(({ queue }) => queue === 'mail'))
      expect(waitedMs).toBeLessThanOrEqual(3);
    t.clock.advance(60_000); // they end while the worker waits for mails
    await t.pass(4);
    expect(t.countOf('import')).toBe(8);
    t.clock.advance(60_000);
    await t.stop(worker);
    expect(t.peakOf('import')).toBe(4);
    expect(t.peakOf('mail')).toBe(2);
  });

  it('bring no more in one fetch than the queue with the least room may hold', async () => {
    const t = createQueues({ import: 60_000 });
    await t.enqueue('import', 20);
    const worker = t.start({ queues: { import: 2, mail: 6 }, backend: made(t.backend) });
    for (let ms = 0; ms < 10; ms++) {
      expect(await t.heldOf('import')).toBeLessThanOrEqual(2);
      await t.pass(1);
    }
    expect(await t.heldOf('import')).toBe(2);
    t.clock.advance(60_000);
    await t.stop(worker);
  });

  it('are all used when every queue has a backlog, each in its order', async () => {
    const t = createQueues();
    await t.enqueue('import', 2_000);
    await t.enqueue('mail', 2_000);
    const worker = t.start({ queues, backend: made(t.backend) });
    await t.pass(100);
    const before = [t.countOf('import'), t.countOf('mail')];
    for (let i = 0; i < 10; i++) {
      await t.pass(jobMs);
      expect(await t.heldOf('import')).toBeLessThanOrEqual(3 * 4);
      expect(await t.heldOf('mail')).toBeLessThanOrEqual(3 * 2);
    }
    expect(t.countOf('import') - before[0]!).toBeGreaterThanOrEqual(36); // of 40
    expect(t.countOf('mail') - before[1]!).toBeGreaterThanOrEqual(18); // of 20
    expect([t.peakOf('import'), t.peakOf('mail')]).toEqual([4, 2]);
    for (const queue of ['import', 'mail']) {
      const order = t.begun.filter((one) => one.queue === queue).map(({ n }) => n);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    await t.stop(worker);
  });

  it('of an empty queue cost a backlog neither slots nor many fetches', async () => {
    const t = createQueues();
    await t.enqueue('import', 2_000);
    let fetches = 0;
    const backend = made({
      ...t.backend,
      fetch(request) {
        fetches++;
        return t.backend.fetch(request);
      },
    });
    const worker = t.start({ queues: { import: 8, mail: 1 }, backend });
    await t.pass(100);
    const [ran, asked] = [t.countOf('import'), fetches];
    await t.pass(200);
    expect(t.countOf('import') - ran).toBeGreaterThanOrEqual(144); // of 160
    expect(fetches - asked).toBeLessThanOrEqual(80);
    await t.stop(worker);
  });

  it.each<[Partial<WorkerOptions>, string, number]>([
    [{ untilIdle: true }, 'idle', 80],
    [{ maxJobs: 17 }, 'max-jobs', 17],
    [{ once: true }, 'once', 1],
  ])('with %o run as many jobs as they must', async (options, reason, count) => {
    const t = createQueues({ import: 25 });
    await t.enqueue('import', 40);
    await t.enqueue('mail', 40);
    const worker = t.start({ queues, ...options, backend: made(t.backend) });
    let summary: unknown = null;
    void worker.done.then((ended) => {
      summary = ended;
    });
    for (let i = 0; i < 100 && summary === null; i++) await t.pass(5);
    expect(summary).toMatchObject({ reason, counts: { acked: count }, released: 0 });
    expect(t.begun).toHaveLength(count);
  });

  it('with untilIdle wait for a job of the one queue while the other one is empty', async () => {
    const t = createQueues({ import: 300 });
    await t.enqueue('import', 5);
    const worker = t.start({ queues, untilIdle: true, backend: made(t.backend) });
    await t.pass(200);
    await t.enqueue('mail', 3);
    await t.pass(450);
    expect(await worker.done).toMatchObject({ reason: 'idle', counts: { acked: 8 } });
  });

  it('give back what is held when the worker stops', async () => {
    const t = createQueues();
    await t.enqueue('import', 500);
    await t.enqueue('mail', 500);
    const worker = t.start({ queues, backend: made(t.backend) });
    await t.pass(100);
    await t.stop(worker);
    expect([await t.heldOf('import'), await t.heldOf('mail')]).toEqual([0, 0]);
    const { counts } = await worker.done;
    expect(counts.acked).toBe(t.begun.length);
  });

  it('run a job alone that may have ended its process, beside no job of another queue', async () => {
    const t = createQueues({ import: 40 });
    await t.enqueue('mail', 1);
    for (let i = 0; i < 2; i++) {
      await t.backend.fetch({ queues: ['mail'], max: 1, leaseMs: 100, waitMs: 0 });
      t.clock.advance(100);
      await t.backend.reapExpired('mail');
    }
    await t.enqueue('import', 20);
    const worker = t.start({ queues, backend: made(t.backend) });
    for (let ms = 0; ms < 100 && t.countOf('mail') === 0; ms++) await t.pass(1);
    expect([await t.heldOf('import'), await t.heldOf('mail')]).toEqual([0, 1]);
    await t.pass(20);
    expect(t.countOf('import')).toBeGreaterThan(0);
    await t.pass(60);
    await t.stop(worker);
  });
});

it('gives its sum as concurrency, and its queues as a list', async () => {
  const t = createQueues();
  const worker = t.start({ queues, concurrency: 9 });
  await t.pass(3);
  const [beat] = await t.backend.stores!.workers!.list(0);
  expect(beat).toMatchObject({ queues: ['import', 'mail'], concurrency: 6 });
  await t.stop(worker);
});

it.each([
  [{ queues: {} }, /^A worker needs at least one queue, got none/],
  [
    { queues: { import: 0 } },
    /^Expected the slots of queue "import" to be an integer of 1 or more, got 0\. Leave/,
  ],
  [{ queues: { import: -1 } }, /, got -1\./],
  [{ queues: { import: 1.5 } }, /, got 1\.5\./],
  [{ queues: { import: '4' as never } }, /, got "4"\./],
  [{ queues: { 'no spaces': 4 } }, /queue's name must match/],
  [
    { queues: 'import' as never },
    /^Expected queues of startWorker\(\) to be a list of names or the slots of each/,
  ],
  [
    { queues: { import: 8, mail: 4 }, concurrency: 10 },
    /^The queues have 12 slots together, but concurrency of startWorker\(\) is 10\. Raise it to 12, leave it out/,
  ],
])('refuses %o', (options, message) => {
  expect(() => createQueues().start(options as Partial<WorkerOptions>)).toThrow(message);
});
