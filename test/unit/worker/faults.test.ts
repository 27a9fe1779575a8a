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
