/** The lines of jobs that wait for slots: somebody looks again where the process that should have woken them has not. */

import { describe, expect, it, vi } from 'vitest';
import { lookingAtLines } from '../../../core/features/limits/lines.ts';
import { promoteOwed } from '../../../core/features/limits/wake.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { bench, job, until } from '../core/kit.ts';

const minute = 60_000;

/** The first job runs until it is told to end; the second one waits for its slot. */
async function oneWaits() {
  let finish: (() => void) | null = null;
  const one = job({
    concurrency: { limit: 1 },
    handle: () => new Promise<void>((resolve) => (finish = resolve)),
  });
  const b = bench({ jobs: [one] });
  for (const n of [1, 2]) await b.client.enqueue(one, n);
  const first = b.run(await b.take());
  await until(() => finish !== null);
  expect(await b.next()).toMatchObject({ outcome: 'requeued', counted: false, delayMs: minute });
  const limits = b.client.stores.limits!;
  const look = lookingAtLines(b.client);
  return {
    ...b,
    one,
    limits,
    first,
    finish: () => finish!(),
    look: async () => {
      await promoteOwed(b.client);
      await look();
    },
    ready: async () => (await b.backend.admin!.stats())[0]!.ready,
  };
}

describe('jobs that wait for a slot', () => {
  it('are woken later where the queue did not answer', async () => {
    const b = await oneWaits();
    const promote = vi.spyOn(b.backend.pending!, 'change').mockRejectedValueOnce(new Error('away'));
    b.finish();
    expect(await b.first).toMatchObject({ outcome: 'acked' });
    expect(b.eventsOf('backend.failed')).toMatchObject([{ during: 'giving slots back' }]);
    expect(await b.ready()).toBe(0);
    await b.look();
    expect(await b.ready()).toBe(1);
    await b.look();
    expect(promote).toHaveBeenCalledTimes(2);
  });

  it('are woken after a reset whose process died before it woke them', async () => {
    const b = await oneWaits();
    await b.look();
    expect(await b.ready()).toBe(0);
    await b.limits.reset('job:work:concurrency');
    await b.look();
    expect(await b.ready()).toBe(1);
  });

  it('wait no more when another process has ended them meanwhile', async () => {
    const one = job({ concurrency: { limit: 1 } });
    let isAway = false;
    const b = bench({
      jobs: [one],
      settler: (backend) => ({
        ...backend,
        async nack(lease, nack) {
          if (isAway) {
            b.clock.advance(2 * minute);
            await backend.reapExpired('default');
            const [other] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: minute, waitMs: 0 });
            await backend.ack([{ lease: other! }]);
          }
          return backend.nack(lease, nack);
        },
      }),
    });
    const limits = b.client.stores.limits!;
    const slot = {
      key: 'job:work:concurrency',
      holder: 'x',
      owner: 'x',
      limit: 1,
      rank: 0,
      queue: 'default',
    };
    await limits.take([{ ...slot, holdMs: 60 * minute }]);
    await b.client.enqueue(one, 1);
    isAway = true;
    expect(await b.next()).toMatchObject({ outcome: 'requeued', settled: false });
    expect(await limits.list({})).toMatchObject([{ used: 1, waiting: 0 }]);
  });

  it('wait no more when they have expired, or were removed', async () => {
    const one = job({ rate: { limit: 1, perMs: 60 * minute }, expiresInMs: 10 * minute });
    const b = bench({ jobs: [one] });
    for (const n of [1, 2, 3]) await b.client.enqueue(one, n);
    await b.next();
    const refused = [await b.next(), await b.next()];
    const limits = b.client.stores.limits!;
    expect(await limits.list({})).toMatchObject([{ waiting: 2 }]);
    await b.client.remove(refused[0]!.id!);
    expect(await limits.list({})).toMatchObject([{ waiting: 1 }]);
    b.clock.advance(11 * minute);
    await b.client.promote(refused[1]!.id!);
    expect(await b.next()).toMatchObject({ reason: 'expired' });
    expect(await limits.list({})).toMatchObject([{ used: 1, waiting: 0 }]);
  });

  it('are woken one at a time behind a breaker', async () => {
    const one = job({
      breaker: { failures: 1, openMs: minute },
      maxRetries: 0,
      handle: () => Promise.reject(new Error('down')),
    });
    const b = bench({ jobs: [one] });
    for (const n of [1, 2, 3]) await b.client.enqueue(one, n);
    for (const _ of [1, 2, 3]) await b.next();
    b.clock.advance(minute - 1);
    const ready = async () => (await b.backend.admin!.stats())[0]!.ready;
    const look = lookingAtLines(b.client);
    await look();
    expect(await ready()).toBe(0);
    b.clock.advance(1);
    await look();
    expect(await ready()).toBe(1);
  });

  it('are looked at by every worker', async () => {
    const ran: unknown[] = [];
    const one = job({ concurrency: { limit: 1 }, handle: (payload) => void ran.push(payload) });
    const b = bench({ jobs: [one] });
    const limits = b.client.stores.limits!;
    const slot = {
      key: 'job:work:concurrency',
      holder: 'x',
      owner: 'x',
      limit: 1,
      rank: 0,
      queue: 'default',
    };
    await limits.take([{ ...slot, holdMs: 60 * minute }]);
    await b.client.enqueue(one, 1);
    const worker = startWorker(b.app, { backend: b.backend });
    await until(() => b.kinds().includes('job.settled'));
    await limits.reset('job:work:concurrency');
    for (let passed = 0; passed < 10_000 && ran.length === 0; passed += 500) {
      b.clock.advance(500);
      for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    }
    expect(ran).toEqual([1]);
    const stopped = worker.stop();
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
    b.clock.advance(10_000);
    await stopped;
  });
});
