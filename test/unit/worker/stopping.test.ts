import { describe, expect, it } from 'vitest';
import type { WorkerSummary } from '../../../core/index.ts';
import { createBench, settle } from './kit.ts';

describe('a worker that stops', () => {
  it('waits for what the app does about a failure, 2 seconds at most', async () => {
    let finish = () => {};
    let heard = '';
    const t = createBench(
      {},
      {
        onError(error) {
          heard = error.message;
          return new Promise<void>((resolve) => {
            finish = resolve;
          });
        },
      },
    );
    for (const answers of [true, false]) {
      await t.enqueue(1);
      const worker = t.start();
      await settle();
      t.running[0]!.fail(new Error(`answers: ${answers}`));
      await settle();
      expect(heard).toBe(`answers: ${answers}`);
      let hasStopped = false;
      const stopped = worker.stop().then(() => {
        hasStopped = true;
      });
      await settle();
      if (answers) finish();
      else {
        await t.pass(1_999);
        expect(hasStopped).toBe(false);
        await t.pass(1);
      }
      await stopped;
    }
  });

  it('lets running jobs end', async () => {
    const t = createBench();
    await t.enqueue(3);
    const worker = t.start({ concurrency: 2 });
    await settle();
    const stopped = worker.stop();
    await settle();
    expect(t.eventsOf('worker.draining')).toMatchObject([{ reason: 'stopped', running: 2 }]);
    for (const one of [...t.running]) one.finish();
    expect(await stopped).toMatchObject({ reason: 'stopped', counts: { acked: 2 }, released: 0 });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 1, leased: 0 });
  });

  it('aborts and hands back what does not end in time, and spends no attempt', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1);
    const worker = t.start({ drainMs: 5_000 });
    await settle();
    const { signal } = t.running[0]!.ctx;
    const stopped = worker.stop('signal');
    await settle();
    await t.pass(4_900, 700);
    expect(signal.aborted).toBe(false);
    await t.pass(200);
    expect(signal.aborted).toBe(true);
    await t.pass(1_100);
    expect(await stopped).toMatchObject({ reason: 'signal', counts: { requeued: 1 }, released: 1 });
    expect(await t.client.status(id!)).toMatchObject({ status: 'pending', attempts: [] });
    const [lease] = await t.backend.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 0 });
    expect(lease).toMatchObject({ attempt: 1, interrupted: false });
  });

  it('counts a handler that throws because it was aborted as released, not as failed', async () => {
    const t = createBench();
    await t.enqueue(1);
    const worker = t.start({ drainMs: 0 });
    await settle();
    const [one] = t.running;
    one!.ctx.signal.addEventListener('abort', () => one!.fail(new Error('aborted')));
    const stopped = worker.stop();
    await settle();
    await t.pass(10);
    expect(await stopped).toMatchObject({ released: 1, counts: { requeued: 1, 'dead-lettered': 0 } });
  });

  it('keeps the success of a handler that ends after the abort', async () => {
    const t = createBench();
    await t.enqueue(1);
    const worker = t.start({ drainMs: 0 });
    await settle();
    const [one] = t.running;
    one!.ctx.signal.addEventListener('abort', () => one!.finish());
    const stopped = worker.stop();
    await settle();
    await t.pass(10);
    expect(await stopped).toMatchObject({ released: 0, counts: { acked: 1 } });
  });

  it('hands back what it had fetched ahead', async () => {
    const t = createBench();
    const worker = await t.startHolding(3);
    const stopped = worker.stop();
    await t.pass(5, 1);
    t.running[0]!.finish();
    expect(await stopped).toMatchObject({ released: 3, counts: { acked: 9 } });
    expect((await t.backend.admin!.stats('default'))[0]).toMatchObject({ ready: 3, leased: 0 });
  });

  it('hands back what it had fetched ahead side by side, within the drain time', async () => {
    const t = createBench();
    const nack: typeof t.backend.nack = async (...args) => {
      await new Promise<void>((resolve) => t.clock.after(300, resolve));
      return t.backend.nack(...args);
    };
    const worker = await t.startHolding(100, { backend: { ...t.backend, nack }, drainMs: 5_000 });
    let summary: WorkerSummary | null = null;
    void worker.stop().then((ended) => {
      summary = ended;
    });
    await settle();
    t.running[0]!.finish();
    await t.pass(5_000, 100);
    expect(summary).toMatchObject({ released: 100, counts: { acked: 9 } });
  });

  it('ends within drainMs and two seconds when its server is silent', async () => {
    const t = createBench();
    await t.enqueue(10);
    let silent = false;
    let fetches = 0;
    const never = new Promise<never>(() => {});
    const mute =
      <Args extends unknown[], Answer>(verb: (...args: Args) => Promise<Answer>) =>
      (...args: Args): Promise<Answer> =>
        silent ? never : verb(...args);
    const workers = t.backend.stores!.workers!;
    const store = { workers: { ...workers, remove: mute(workers.remove) } };
    const backend = {
      ...t.backend,
      // The one under way when the worker stops is not ended by the stop.
      fetch: (request: Parameters<typeof t.backend.fetch>[0]) =>
        fetches++ === 0 ? t.backend.fetch(request) : never,
      ack: mute(t.backend.ack),
      nack: mute(t.backend.nack),
      renew: mute(t.backend.renew),
      reapExpired: mute(t.backend.reapExpired),
    };
    const worker = t.start({ backend, store, concurrency: 20, drainMs: 5_000 });
    await settle();
    expect([worker.running(), fetches]).toEqual([10, 2]);
    silent = true;
    let ended = false;
    void worker.stop().then(() => {
      ended = true;
    });
    await settle();
    await t.pass(4_900, 100);
    expect(ended).toBe(false);
    await t.pass(2_100, 100);
    await t.pass(1); // timers of 0 ms
    expect(ended).toBe(true);
  });

  it('says nothing of what fails when it has stopped: its backend may be closed by then', async () => {
    const t = createBench();
    const reaping = Promise.withResolvers<number>();
    const worker = t.start({ backend: { ...t.backend, reapExpired: () => reaping.promise } });
    await t.pass(5_000, 1_000); // a reaping begins
    await worker.stop();
    await t.client.close();
    reaping.reject(new Error('the backend was closed'));
    await settle();
    expect(t.eventsOf('backend.failed')).toEqual([]);
  });

  it('goes on renewing leases while it drains', async () => {
    const t = createBench();
    const [id] = await t.enqueue(1);
    const worker = t.start({ drainMs: 60_000, leaseMs: 3_000 });
    await settle();
    const stopped = worker.stop();
    await t.pass(50_000, 500);
    t.running[0]!.finish();
    await stopped;
    expect(await t.client.status(id!)).toMatchObject({ status: 'completed' });
  });

  it('may be asked to stop again and again', async () => {
    const t = createBench();
    const worker = t.start();
    await settle();
    const [first, second] = await Promise.all([worker.stop(), worker.stop('signal')]);
    expect(second).toBe(first);
    expect(first.reason).toBe('stopped');
    expect(await worker.done).toBe(first);
  });
});
