/** A queue that can ack and fetch in one step fills the slots of the jobs that end. */

import { describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createBench, settle } from './kit.ts';

/** The memory backend with a fused verb that takes a few turns, as one over a network does. */
function fused(backend: QueueBackend, before: () => Promise<void> = () => settle(3)) {
  let calls = 0;
  const withRefill: QueueBackend = {
    ...backend,
    hints: {
      async ackAndFetch(acks, request) {
        calls++;
        await before();
        const settled = await backend.ack(acks);
        return { settled, leases: await backend.fetch({ ...request, waitMs: 0 }) };
      },
    },
  };
  return { backend: withRefill, calls: () => calls };
}

describe('slots that are refilled with the acks', () => {
  it('are never more than there are, and every job runs once', async () => {
    const t = createBench();
    const { backend, calls } = fused(t.backend);
    const ids = await t.enqueue(60);
    const worker = t.start({ backend, concurrency: 4, prefetch: 2 });
    for (let ended = 0; ended < 60; ended++) {
      while (t.running.length === 0) await settle(1);
      t.running[ended % t.running.length]!.finish();
      if (ended % 3 === 0) await settle(2);
    }
    await settle();
    expect(t.peak()).toBeLessThanOrEqual(4);
    expect(calls()).toBeGreaterThan(5);
    expect((await worker.stop()).counts.acked).toBe(60);
    for (const id of ids) expect((await t.client.status(id))?.attempts).toHaveLength(1);
  });

  it('keep to max-jobs', async () => {
    const t = createBench();
    await t.enqueue(50, 'quick');
    const { backend } = fused(t.backend);
    const summary = await t.start({ backend, concurrency: 8, maxJobs: 20 }).done;
    expect(summary).toMatchObject({ reason: 'max-jobs', counts: { acked: 20 }, released: 0 });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 30, leased: 0 });
  });

  it('come to an end when nothing is left', async () => {
    const t = createBench();
    await t.enqueue(50, 'quick');
    const { backend } = fused(t.backend);
    expect(await t.start({ backend, concurrency: 8, untilIdle: true }).done).toMatchObject({
      reason: 'idle',
      counts: { acked: 50 },
    });
  });

  it('give back what arrives after the worker was asked to stop', async () => {
    const t = createBench();
    await t.enqueue(2);
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { backend } = fused(t.backend, () => gate);
    const worker = t.start({ backend, concurrency: 1 });
    await settle();
    t.running[0]!.finish();
    await settle();
    const stopped = worker.stop();
    open();
    expect(await stopped).toMatchObject({ counts: { acked: 1 }, released: 1 });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 1, leased: 0 });
  });

  it('do not take a failure for an ack', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1, 'quick');
    let failing = true;
    const { backend } = fused(t.backend, async () => {
      if (failing) throw new Error('connection reset');
    });
    const worker = t.start({ backend, concurrency: 1, leaseMs: 3_000 });
    await settle();
    expect(t.eventsOf('backend.failed')).toMatchObject([{ during: 'settling' }]);
    failing = false;
    await t.pass(9_000, 500);
    expect((await worker.stop()).counts.acked).toBe(1);
    expect(await t.client.status(id!)).toMatchObject({
      status: 'completed',
      attempts: [{ outcome: 'acked' }],
    });
  });
});
