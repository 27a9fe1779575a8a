import { describe, expect, it } from 'vitest';
import { createBench, settle } from './kit.ts';

describe('a worker whose backend fails', () => {
  it('tries again with growing pauses, says so, and goes on', async () => {
    const t = createBench();
    let failing = 4;
    const backend = {
      ...t.backend,
      fetch: (request: Parameters<typeof t.backend.fetch>[0]) => {
        if (failing-- > 0) throw new Error('connection refused');
        return t.backend.fetch(request);
      },
    };
    await t.enqueue(1, 'quick');
    const worker = t.start({ backend });
    await t.pass(3_000, 25);
    expect(t.eventsOf('backend.failed')).toHaveLength(4);
    expect(t.eventsOf('backend.failed')[0]!.error.message).toMatch(/fetching: connection refused/);
    // 100, 200, 400 and 800 ms, each times 0.75 with the fixed chance of this test.
    const [recovered] = t.eventsOf('backend.recovered');
    expect(recovered!.afterMs).toBeGreaterThanOrEqual(1_125);
    expect(recovered!.afterMs).toBeLessThan(1_325);
    expect((await worker.stop()).counts.acked).toBe(1);
  });

  it('calls what fails with a pause between any two tries, and finds it back within a second', async () => {
    const t = createBench();
    const calls = { fetch: 0, ack: 0, renew: 0, reapExpired: 0 };
    let isBack = false;
    /** Throws until the backend is back. */
    const failing =
      <Args extends unknown[], Answer>(verb: keyof typeof calls, call: (...args: Args) => Answer) =>
      (...args: Args): Answer => {
        calls[verb]++;
        if (!isBack) throw new Error('connection refused');
        return call(...args);
      };
    const { fetch, ack, renew, reapExpired } = t.backend;
    const backend = {
      ...t.backend,
      ack: failing('ack', ack),
      renew: failing('renew', renew),
      reapExpired: failing('reapExpired', reapExpired),
      fetch,
    };
    await t.enqueue(10, 'held');
    const worker = t.start({ backend, concurrency: 10, leaseMs: 3_000 });
    await settle();
    Object.assign(backend, { fetch: failing('fetch', fetch) });
    for (const one of [...t.running]) one.finish();
    await t.pass(60_000, 25);
    // Pauses grow to a second, of which this test's chance takes three quarters; the ten acks are tried while their leases last.
    expect(calls.fetch).toBeLessThanOrEqual(60 / 0.75 + 10);
    expect(calls.ack).toBeLessThanOrEqual(10 * 10);
    expect(calls.renew).toBeLessThanOrEqual(60);
    expect(calls.reapExpired).toBeLessThanOrEqual(60);
    const { fetch: before } = calls;
    isBack = true;
    await t.pass(1_000, 25);
    expect(calls.fetch).toBeGreaterThan(before);
    await t.pass(10_000, 25); // the jobs whose acks have failed are begun again
    for (const one of [...t.running]) one.finish();
    await settle();
    expect((await worker.stop()).reason).toBe('stopped');
  });

  it('does not take a failed ack for success: the job comes back', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1, 'quick');
    let broken = true;
    const backend = {
      ...t.backend,
      ack: (acks: Parameters<typeof t.backend.ack>[0]) => {
        if (broken) throw new Error('disk full');
        return t.backend.ack(acks);
      },
    };
    const worker = t.start({ backend, leaseMs: 3_000 });
    await settle();
    expect(t.eventsOf('job.settled')).toEqual([]);
    expect(t.eventsOf('backend.failed')).toMatchObject([{ during: 'settling' }]);
    await t.pass(3_500, 100);
    expect(t.eventsOf('backend.failed').filter(({ during }) => during === 'settling')).toHaveLength(2);
    broken = false;
    await t.pass(9_000, 500);
    expect((await worker.stop()).counts.acked).toBe(1);
    expect(await t.client.status(id!)).toMatchObject({
      status: 'completed',
      attempts: [{ outcome: 'interrupted' }, { outcome: 'acked' }],
    });
  });

  it('tries a failed ack again as long as the lease lasts, so that work that is done is not done twice', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1, 'quick');
    let failing = 4;
    const backend = {
      ...t.backend,
      ack: (acks: Parameters<typeof t.backend.ack>[0]) => {
        if (failing-- > 0) throw new Error('connection refused');
        return t.backend.ack(acks);
      },
    };
    const worker = t.start({ backend, leaseMs: 3_000 });
    await t.pass(1_500, 25);
    expect(t.eventsOf('backend.failed')).toHaveLength(1);
    expect((await worker.stop()).counts.acked).toBe(1);
    expect(await t.client.status(id!)).toMatchObject({
      status: 'completed',
      attempts: [{ outcome: 'acked' }],
    });
  });

  it.each([{ once: true }, { untilIdle: true }])(
    'gives up after some tries when it is to end by itself: %o',
    async (how) => {
      const t = createBench();
      const backend = {
        ...t.backend,
        fetch: async () => {
          throw new Error('connection refused');
        },
      };
      const worker = t.start({ backend, ...how });
      await t.pass(5_000, 25);
      expect(await worker.done).toMatchObject({ reason: 'backend-failed' });
      expect(t.eventsOf('backend.failed')).toHaveLength(5);
    },
  );

  it('survives stores that fail', async () => {
    const t = createBench();
    const fail = async (): Promise<never> => {
      throw new Error('store is gone');
    };
    const store = { workers: { heartbeat: fail, list: fail, remove: fail } };
    await t.enqueue(1, 'quick');
    const worker = t.start({ store });
    await t.pass(12_000, 1_000);
    expect(t.eventsOf('backend.failed').length).toBeGreaterThan(1);
    expect((await worker.stop()).counts.acked).toBe(1);
  });
});

it('what was under way when a worker stopped is not reported when its backend is closed', async () => {
  const bench = createBench();
  const closed = Promise.withResolvers<number>();
  const backend = { ...bench.backend, reapExpired: () => closed.promise };
  const worker = bench.start({ backend });
  await settle();
  await bench.pass(5_000, 1_000); // a reaping begins
  await worker.stop();
  closed.reject(new Error('the connection was closed'));
  await settle();
  expect(bench.eventsOf('worker.stopped')).toHaveLength(1);
  expect(bench.eventsOf('backend.failed')).toEqual([]);
});
