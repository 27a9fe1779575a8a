/** A worker that is asked to drain from afar hears of it with its next heartbeat, and stops as after a signal. */

import { describe, expect, it } from 'vitest';
import type { WorkerRegistry } from '../../../core/contract/store.ts';
import { drainWorker } from '../../../core/kernel/worker/drain.ts';
import { createBench, settle } from './kit.ts';

/** A bench whose worker counts the calls of its registry. */
async function started(jobs = 0) {
  const t = createBench();
  await t.enqueue(jobs);
  const calls: string[] = [];
  const { stores } = t.backend;
  const workers = stores!.workers!;
  const counting: WorkerRegistry = {
    ...workers,
    heartbeat: (beat) => {
      calls.push('heartbeat');
      return workers.heartbeat(beat);
    },
    remove: (id) => {
      calls.push('remove');
      return workers.remove(id);
    },
  };
  const backend = { ...t.backend, stores: { ...stores!, workers: counting } };
  const worker = t.start({ backend, concurrency: 2, drainMs: 60_000 });
  await t.pass(1);
  const list = () => workers.list(t.clock.now() - 60_000);
  return { ...t, worker, workers, list, calls, drain: (id = worker.id) => drainWorker(t.client, id) };
}

describe('a worker that is asked to drain', () => {
  it('takes no more jobs from its next heartbeat on, and stops when those that run have ended', async () => {
    const t = await started(3);
    expect(t.running).toHaveLength(2);
    await t.drain();
    await t.pass(4_000, 500);
    expect(t.eventsOf('worker.draining')).toEqual([]);
    expect((await t.list()).map(({ draining }) => draining)).toEqual([undefined]);
    await t.pass(1_000, 500);
    expect(t.eventsOf('worker.draining')).toMatchObject([{ reason: 'asked', running: 2 }]);
    await t.pass(10_000, 1_000);
    expect(await t.list()).toMatchObject([{ id: t.worker.id, draining: true, running: 2 }]);
    for (const one of [...t.running]) one.finish();
    expect(await t.worker.done).toMatchObject({ reason: 'asked', counts: { acked: 2 }, released: 0 });
    expect(await t.list()).toEqual([]);
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 1, leased: 0 });
    expect(t.eventsOf('worker.stopped')).toMatchObject([{ reason: 'asked' }]);
  });

  it('aborts and releases what has not ended within drainMs, as after a signal', async () => {
    const t = await started(1);
    await t.drain();
    await t.pass(5_000, 500);
    await t.pass(62_000, 500);
    expect(await t.worker.done).toMatchObject({ reason: 'asked', released: 1 });
  });

  it('asks its store nothing more than without', async () => {
    const t = await started();
    await t.pass(20_000, 500);
    expect(t.calls).toEqual(['heartbeat', 'heartbeat', 'heartbeat', 'heartbeat', 'heartbeat']);
    await t.drain();
    await t.pass(5_000, 500);
    expect(await t.worker.done).toMatchObject({ reason: 'asked' });
    expect(t.calls.slice(5)).toEqual(['heartbeat', 'remove']);
  });

  it('may be asked twice, and by many', async () => {
    const t = await started(1);
    await Promise.all([t.drain(), t.drain(), t.drain()]);
    await t.pass(6_000, 500);
    await t.drain();
    await t.pass(6_000, 500);
    expect(t.eventsOf('worker.draining')).toHaveLength(1);
    for (const one of [...t.running]) one.finish();
    expect(await t.worker.done).toMatchObject({ reason: 'asked' });
  });

  it('is the only one that stops', async () => {
    const t = await started();
    const other = t.start();
    await t.pass(1);
    await t.drain();
    await t.pass(6_000, 500);
    await t.worker.done;
    expect((await t.list()).map(({ id }) => id)).toEqual([other.id]);
    await other.stop();
  });

  it('tells that it drains after a signal too', async () => {
    const t = await started(1);
    void t.worker.stop('signal');
    await t.pass(6_000, 500);
    expect(await t.list()).toMatchObject([{ draining: true }]);
    for (const one of [...t.running]) one.finish();
    await t.worker.done;
  });
});

describe('drainWorker()', () => {
  it('refuses an id that no worker has, or had within 5 minutes', async () => {
    const t = await started();
    await expect(t.drain('worker-9')).rejects.toMatchObject({
      code: 'OPTION',
      message: 'Expected the id of a worker that was seen within 5 minutes, got "worker-9".',
    });
    await t.worker.stop();
    await expect(t.drain()).rejects.toMatchObject({ code: 'OPTION' });
  });

  it('says of a worker that is gone since when', async () => {
    const t = createBench();
    const workers = t.backend.stores!.workers!;
    const seenAt = t.clock.now();
    const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
    const about = { host: 'h', pid: 1, queues: ['q'], concurrency: 1, running: 0, counts, memoryBytes: 1 };
    await workers.heartbeat({ ...about, id: 'w', startedAt: seenAt, seenAt });
    t.clock.advance(60_000);
    await drainWorker(t.client, 'w');
    t.clock.advance(10_000);
    await expect(drainWorker(t.client, 'w')).rejects.toThrow('"w" was last seen 70 s ago: it is gone.');
  });

  it('refuses where the store passes nothing on; a registry that resolves with nothing does no harm', async () => {
    const t = createBench();
    const { stores } = t.backend;
    const workers = stores!.workers!;
    const old: WorkerRegistry = {
      list: workers.list,
      remove: workers.remove,
      heartbeat: async (beat) => void (await workers.heartbeat(beat)),
    };
    const worker = t.start({ backend: { ...t.backend, stores: { ...stores!, workers: old } } });
    await t.pass(10_000, 500);
    await settle();
    const client = { ...t.client, stores: { ...t.client.stores, workers: old } };
    await expect(drainWorker(client, worker.id)).rejects.toThrow('Send a signal to the process instead.');
    expect(t.eventsOf('worker.draining')).toEqual([]);
    expect(t.eventsOf('backend.failed')).toEqual([]);
    await worker.stop();
  });
});
