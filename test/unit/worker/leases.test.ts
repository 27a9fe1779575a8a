import { describe, expect, it } from 'vitest';
import { startWorker } from '../../../core/index.ts';
import { createBench, settle } from './kit.ts';

describe('leases of a worker', () => {
  it('are renewed for as long as the job runs', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1);
    const worker = t.start({ leaseMs: 3_000 });
    await settle();
    await t.pass(120_000, 500);
    expect(await t.backend.reapExpired('default')).toBe(0);
    t.running[0]!.finish();
    await worker.stop();
    expect(await t.client.status(id!)).toMatchObject({ status: 'completed', attempts: [{ attempt: 1 }] });
  });

  it('are renewed together with the idempotency key of the job', async () => {
    const t = createBench({ idempotencyKey: ({ n }) => `only-${n}` });
    await t.enqueue(1);
    const worker = t.start({ leaseMs: 3_000 });
    await settle();
    await t.pass(60_000, 500);
    await t.enqueue(1); // the same key again, a minute later
    await settle();
    expect(t.eventsOf('job.settled').at(-1)).toMatchObject({ outcome: 'requeued', settled: true });
    t.running[0]!.finish();
    await settle();
    await t.pass(60_000, 500);
    expect((await worker.stop()).counts).toMatchObject({ acked: 1, 'skipped-idempotent': 1 });
  });

  it.each([3_600_000, -3_600_000])('outlast a clock of the host that is set by %i ms', async (aheadMs) => {
    const t = createBench({ idempotencyKey: ({ n }) => `only-${n}` });
    const [id] = await t.enqueue(1);
    const worker = t.start({ leaseMs: 3_000 });
    await settle();
    await t.pass(2_000, 500);
    t.clock.set(aheadMs);
    await t.pass(20_000, 500);
    t.running[0]!.finish();
    await settle();
    expect(t.eventsOf('job.settled')).toMatchObject([{ outcome: 'acked', settled: true }]);
    await worker.stop();
    expect(await t.client.status(id!)).toMatchObject({ status: 'completed', attempts: [{ attempt: 1 }] });
  });

  it('of a dead worker are reaped, and the job is told', async () => {
    const t = createBench();
    await t.enqueue(1);
    await t.backend.fetch({ queues: ['default'], max: 1, leaseMs: 5_000, waitMs: 0 }); // by somebody who never settles
    const worker = t.start();
    await t.pass(12_000, 500);
    expect(t.eventsOf('worker.reaped')).toMatchObject([{ queue: 'default', count: 1 }]);
    expect(t.running[0]!.ctx).toMatchObject({ attempt: 2, previouslyCrashed: true });
    t.running[0]!.finish();
    await worker.stop();
  });

  it('that are lost end the run, abort its signal and settle nothing', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1);
    const backend = { ...t.backend, renew: async (leases: readonly unknown[]) => leases.map(() => false) };
    const worker = t.start({ backend, leaseMs: 3_000 });
    await settle();
    const { signal } = t.running[0]!.ctx;
    await t.pass(1_500);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(t.eventsOf('job.settled')).toMatchObject([{ settled: false }]);
    expect(await t.client.status(id!)).toMatchObject({ status: 'processing', attempts: [] });
    await worker.stop();
  });

  it('count as lost when the backend cannot be reached before they end', async () => {
    const t = createBench();
    await t.enqueue(1);
    const backend = {
      ...t.backend,
      renew: async () => {
        throw new Error('connection refused');
      },
    };
    const worker = t.start({ backend, leaseMs: 3_000 });
    await settle();
    await t.pass(2_000, 500);
    expect(worker.running()).toBe(1);
    await t.pass(2_500, 500);
    expect(t.eventsOf('job.settled')).toMatchObject([{ settled: false }]);
    expect(t.eventsOf('backend.failed')[0]).toMatchObject({ during: 'renewing', error: { code: 'BACKEND' } });
    await worker.stop();
  });

  it('are renewed while a key store does not answer, with and without a key', async () => {
    const t = createBench({ idempotencyKey: ({ n }) => (n === 0 ? 'only' : null) });
    await t.enqueue(3);
    const keys = { ...t.backend.stores!.keys, extend: () => new Promise<boolean>(() => {}) };
    const worker = t.start({ store: { keys }, leaseMs: 3_000 });
    await settle();
    await t.pass(30_000, 500);
    expect(worker.running()).toBe(3);
    expect(t.eventsOf('job.settled')).toEqual([]);
    const failures = t.eventsOf('backend.failed').filter(({ during }) => during === 'renewing keys');
    expect(failures.length).toBeGreaterThan(1);
    expect(failures[0]!.error.message).toMatch(/no answer for 1000 ms/);
    for (const one of [...t.running]) one.finish();
    await worker.stop();
  });

  it('are renewed after a renewal that is never answered', async () => {
    const t = createBench();
    await t.enqueue(1);
    let calls = 0;
    const renew: typeof t.backend.renew = (...args) =>
      calls++ === 0 ? new Promise(() => {}) : t.backend.renew(...args);
    const worker = t.start({ backend: { ...t.backend, renew }, leaseMs: 3_000 });
    await settle();
    await t.pass(30_000, 500);
    expect(t.eventsOf('job.settled')).toEqual([]);
    t.running[0]!.finish();
    expect((await worker.stop()).counts.acked).toBe(1);
  });

  it('count from the question of a renewal whose answer is late', async () => {
    const t = createBench();
    await t.enqueue(1);
    const renew: typeof t.backend.renew = async (...args) => {
      const renewed = await t.backend.renew(...args);
      await new Promise<void>((resolve) => t.clock.after(1_600, resolve));
      return renewed;
    };
    const worker = t.start({ backend: { ...t.backend, renew }, leaseMs: 3_000 });
    await settle();
    await t.pass(30_000, 100);
    expect(t.eventsOf('job.settled')).toEqual([]);
    t.running[0]!.finish();
    expect((await worker.stop()).counts.acked).toBe(1);
  });

  it('are lost when no renewal is answered, and few calls are left waiting', async () => {
    const t = createBench();
    await t.enqueue(1);
    let calls = 0;
    const renew = () => {
      calls++;
      return new Promise<boolean[]>(() => {});
    };
    const worker = t.start({ backend: { ...t.backend, renew }, leaseMs: 3_000, concurrency: 1 });
    await settle();
    await t.pass(4_000, 500);
    expect(t.eventsOf('job.settled')).toMatchObject([{ settled: false }]);
    await t.pass(60_000, 500);
    expect(calls).toBe(2);
    for (const one of [...t.running]) one.finish();
    await worker.stop();
  });

  it('must outlast every job when they are not renewed', () => {
    const t = createBench({ timeoutMs: 60_000 });
    expect(() => startWorker(t.app, { backend: t.backend, renew: false, leaseMs: 30_000 })).toThrow(
      expect.objectContaining({
        code: 'CONFIG',
        message: expect.stringMatching(/leaseMs is 30000.*60000 ms.*Raise/),
      }),
    );
  });

  it('must be possible for as long as the longest job may run', () => {
    const t = createBench({ timeoutMs: 60_000 });
    const backend = { ...t.backend, limits: { ...t.backend.limits, maxLeaseMs: 50_000 } };
    expect(() => startWorker(t.app, { backend })).toThrow(/at most 50000 ms. Lower its timeoutMs/);
  });
});

describe('keys of running jobs', () => {
  const leaseMs = 600;
  const keyOf = (n: number) => `job:held:only-${n}`;

  /** Runs `count` jobs, each with a key of its own, for much longer than a lease. Answers whose keys are not held any more. */
  async function runWith(count: number, extend: (t: ReturnType<typeof createBench>, key: string) => unknown) {
    const t = createBench({ idempotencyKey: ({ n }) => `only-${n}` });
    const { keys } = t.backend.stores!;
    const slow = {
      ...keys,
      async extend(...args: Parameters<typeof keys.extend>) {
        await extend(t, args[0]);
        return keys.extend(...args);
      },
    };
    await t.enqueue(count);
    t.start({ store: { keys: slow }, leaseMs, concurrency: count });
    await settle();
    await t.pass(3_000, 5);
    expect(t.eventsOf('job.settled')).toEqual([]);
    const free: number[] = [];
    for (let n = 0; n < count; n++) {
      const claim = await keys.claim(keyOf(n), 'another job', t.clock.now() + 1);
      if (claim.state === 'claimed') free.push(n);
    }
    return free;
  }

  it('are held for as long as the jobs run, however many there are', async () => {
    expect(await runWith(200, (t) => new Promise<void>((done) => t.clock.after(5, done)))).toEqual([]);
  });

  it('are held while the call for one of them hangs', async () => {
    const never = new Promise(() => {});
    expect(await runWith(100, (_, key) => (key === keyOf(0) ? never : null))).toEqual([0]);
  });
});
