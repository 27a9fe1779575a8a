import { describe, expect, it } from 'vitest';
import { createBench, settle } from './kit.ts';

it('a slot is free again when a key store never answers, and the worker stops, though leases are renewed', async () => {
  const t = createBench({ idempotencyKey: ({ n }) => (n === 0 ? 'k' : null) });
  const { keys } = t.backend.stores!;
  const stores = { ...t.backend.stores!, keys: { ...keys, claim: () => new Promise<never>(() => {}) } };
  const backend = { ...t.backend, stores };
  await t.enqueue(2);
  const worker = t.start({ backend, concurrency: 1, leaseMs: 30_000 });
  await t.pass(9_000, 1_000);
  expect(t.running).toEqual([]);
  await t.pass(2_000, 1_000);
  expect(t.running.map(({ n }) => n)).toEqual([1]);
  t.running[0]!.finish();
  const stopping = worker.stop();
  await settle();
  await t.pass(1_000);
  await stopping;
});

describe('slots of a worker', () => {
  it('runs as many jobs at once as it has slots, never more', async () => {
    const t = createBench();
    await t.enqueue(7);
    const worker = t.start({ concurrency: 3 });
    await settle();
    expect(worker.running()).toBe(3);
    while (t.running.length > 0) {
      t.running[0]!.finish();
      await settle();
    }
    expect(t.peak()).toBe(3);
    expect((await worker.stop()).counts.acked).toBe(7);
  });

  it('fills a free slot without waiting for the slowest job', async () => {
    const t = createBench();
    await t.enqueue(4);
    const worker = t.start({ concurrency: 2 });
    await settle();
    const [slow] = t.running;
    for (let i = 0; i < 3; i++) {
      t.running.find((one) => one !== slow)!.finish();
      await settle();
    }
    expect(t.running).toEqual([slow]);
    slow!.finish();
    await settle();
    expect((await worker.stop()).counts.acked).toBe(4);
  });

  it('starts a job that arrives while it waits, without any time passing', async () => {
    const t = createBench();
    const worker = t.start();
    await settle();
    await t.enqueue(1);
    await settle();
    expect(worker.running()).toBe(1);
    t.running[0]!.finish();
    await worker.stop();
  });

  it('settles jobs that end together in one call', async () => {
    const t = createBench();
    const sizes: number[] = [];
    const backend = {
      ...t.backend,
      ack: (acks: Parameters<typeof t.backend.ack>[0]) => {
        sizes.push(acks.length);
        return t.backend.ack(acks);
      },
    };
    await t.enqueue(20, 'quick');
    await t.start({ backend, concurrency: 10, untilIdle: true }).done;
    expect(sizes).toEqual([20]); // a slot is free when its handler has ended, so the second ten ended in the same turn
  });

  it('gives out nothing from a paused queue, and ends what runs', async () => {
    const t = createBench();
    await t.enqueue(3);
    const worker = t.start({ concurrency: 1 });
    await settle();
    await t.backend.admin!.setPaused('default', true);
    t.running[0]!.finish();
    await settle();
    expect(worker.running()).toBe(0);
    await t.backend.admin!.setPaused('default', false);
    await settle();
    expect(worker.running()).toBe(1);
    t.running[0]!.finish();
    await settle();
    t.running[0]!.finish();
    expect((await worker.stop()).counts.acked).toBe(3);
  });
});
