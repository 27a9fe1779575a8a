import { describe, expect, it } from 'vitest';
import type { WorkerOptions } from '../../../core/kernel/worker/options.ts';
import { createBench, settle } from './kit.ts';

describe('limits of a worker', () => {
  it('max-jobs: takes exactly so many and leaves the rest', async () => {
    const t = createBench();
    await t.enqueue(50, 'quick');
    const summary = await t.start({ concurrency: 8, maxJobs: 20 }).done;
    expect(summary).toMatchObject({ reason: 'max-jobs', counts: { acked: 20 }, released: 0 });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 30, leased: 0 });
  });

  it('once: takes one job', async () => {
    const t = createBench();
    await t.enqueue(2, 'quick');
    expect(await t.start({ once: true }).done).toMatchObject({ reason: 'once', counts: { acked: 1 } });
  });

  it('once: ends at once when nothing is ready', async () => {
    const t = createBench();
    expect(await t.start({ once: true }).done).toMatchObject({ reason: 'once', counts: { acked: 0 } });
  });

  it('idle: runs everything that is ready, also what arrives meanwhile, and leaves delayed jobs', async () => {
    const t = createBench();
    await t.enqueue(30, 'quick');
    await t.client.enqueue(t.quick, { n: 99 }, { delayMs: 60_000 });
    expect(await t.start({ untilIdle: true }).done).toMatchObject({ reason: 'idle', counts: { acked: 30 } });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 0, delayed: 1 });
  });

  it.each([{ untilIdle: true }, { once: true }])(
    '%o: gives up when what a dead worker left cannot be taken back',
    async (way) => {
      const t = createBench();
      const reapExpired = () => Promise.reject(new Error('The disk is gone.'));
      const worker = t.start({ ...way, backend: { ...t.backend, reapExpired } });
      await t.pass(5_000, 100);
      expect(await worker.done).toMatchObject({ reason: 'backend-failed' });
    },
  );

  it('max-runtime: stops after the time given', async () => {
    const t = createBench();
    const worker = t.start({ maxRuntimeMs: 90_000 });
    await t.pass(89_000, 1_000);
    expect(t.eventsOf('worker.draining')).toEqual([]);
    await t.pass(1_000);
    expect(await worker.done).toMatchObject({ reason: 'max-runtime' });
  });

  it('max-memory: drains when the process has grown too large', async () => {
    const t = createBench();
    let rssBytes = 50_000_000;
    const worker = t.start({ maxMemoryBytes: 60_000_000, testing: { rssBytes: () => rssBytes } });
    await t.pass(20_000, 1_000);
    expect(t.eventsOf('worker.draining')).toEqual([]);
    rssBytes = 61_000_000;
    await t.pass(6_000, 1_000);
    expect(await worker.done).toMatchObject({ reason: 'max-memory' });
  });

  it('max-memory: begins no further job when one has made the process too large', async () => {
    const t = createBench();
    await t.enqueue(6, 'quick');
    const rssBytes = () => 60_000_000 * t.eventsOf('job.started').length;
    const worker = t.start({ concurrency: 1, maxMemoryBytes: 100_000_000, testing: { rssBytes } });
    expect(await worker.done).toMatchObject({ reason: 'max-memory', counts: { acked: 2 } });
  });

  it('memory growth is told, once per doubling', async () => {
    const t = createBench();
    let rssBytes = 100_000_000;
    const worker = t.start({ testing: { rssBytes: () => rssBytes } });
    await t.pass(20_000, 1_000);
    rssBytes = 250_000_000;
    await t.pass(20_000, 1_000);
    expect(t.eventsOf('worker.memory')).toMatchObject([
      { rssBytes: 250_000_000, baselineBytes: 100_000_000 },
    ]);
    await worker.stop();
  });

  it.each([
    [{ concurrency: 0 }, /Expected concurrency of startWorker\(\) to be an integer of 1 or more, got 0/],
    [{ leaseMs: 10 }, /Expected leaseMs of startWorker\(\) to be an integer of 100 or more, got 10/],
    [{ queues: [] }, /at least one queue/],
    [{ queues: ['no spaces'] }, /queue's name must match/],
    [{ maxJobs: -1 }, /Expected maxJobs/],
    [{ concurency: 5 }, /Unknown option "concurency" of startWorker\(\), only backend, .+ concurrency, .+\./],
    [{ once: 'yes' as never }, /Expected once of startWorker\(\) to be a boolean, got a string/],
  ])('refuses %o', (options, message) => {
    const t = createBench();
    expect(() => t.start(options as Partial<WorkerOptions>)).toThrow(message);
  });

  it('tells of a queue that the app does not name, and works off what was left there', async () => {
    const t = createBench();
    await t.start({ queues: ['defualt'], untilIdle: true }).done;
    expect(t.eventsOf('backend.warning')).toMatchObject([
      { message: expect.stringMatching(/^The app names no queue "defualt": .+ Did you mean "default"\?/) },
    ]);
  });
});

describe('what a worker tells', () => {
  it('writes a heartbeat while it lives and removes it when it stops', async () => {
    const t = createBench();
    await t.enqueue(1);
    const worker = t.start({ concurrency: 4 });
    await t.pass(6_000, 500);
    const [beat] = await t.backend.stores!.workers!.list(0);
    expect(beat).toMatchObject({
      id: worker.id,
      pid: process.pid,
      queues: ['default'],
      concurrency: 4,
      running: 1,
    });
    t.running[0]!.finish();
    await worker.stop();
    expect(await t.backend.stores!.workers!.list(0)).toEqual([]);
  });

  it('writes its first heartbeat when it starts, and names what it runs, longest first', async () => {
    const t = createBench();
    const worker = t.start({ concurrency: 40 });
    await t.pass(1);
    const beat = async () => (await t.backend.stores!.workers!.list(0))[0]!;
    expect(await beat()).toMatchObject({ id: worker.id, running: 0, failed: 0, jobs: [] });
    const [first] = await t.enqueue(1);
    await t.pass(1_000);
    const startedAt = t.running[0]!.ctx.deadlineAt - t.held.timeoutMs;
    await t.enqueue(30);
    await t.pass(6_000, 1_000);
    const { running, jobs } = await beat();
    expect(running).toBe(31);
    expect(jobs).toHaveLength(20);
    expect(jobs![0]).toEqual({ id: first, job: 'held', startedAt });
    t.running.at(-1)!.fail(new Error('no'));
    for (const one of [...t.running].slice(0, 29)) one.finish();
    await t.pass(6_000, 1_000);
    expect(await beat()).toMatchObject({ running: 1, failed: 1, counts: { acked: 29, requeued: 1 } });
    for (const one of [...t.running]) one.finish();
    await settle();
    await worker.stop();
  });

  it('stops with its counts', async () => {
    const t = createBench();
    await t.enqueue(3, 'quick');
    await t.start({ untilIdle: true }).done;
    expect(t.eventsOf('worker.stopped')).toMatchObject([
      { reason: 'idle', counts: { acked: 3 }, released: 0 },
    ]);
  });

  it('ends a run that somebody cancels', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1);
    const worker = t.start();
    await settle();
    const { signal } = t.running[0]!.ctx;
    expect(await t.client.cancel(id!)).toBe('cancelling');
    await t.pass(1_100, 100);
    expect(signal.reason).toMatchObject({ code: 'CANCELLED' });
    expect(await t.client.status(id!)).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
    await worker.stop();
  });
});
