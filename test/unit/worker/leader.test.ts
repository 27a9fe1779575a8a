/** Chores of a backend: one worker of all that take from the same queues does them. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Contract, connect, createApp, defineJob, startWorker } from '../../../core/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { createBench, settle } from './kit.ts';

type Bench = ReturnType<typeof createBench>;
type Verb = 'reapExpired' | 'purge' | 'toCheck' | 'list';

const none: Record<Verb, number> = { reapExpired: 0, purge: 0, toCheck: 0, list: 0 };

/** A backend that counts who does its chores. `keys` replaces its key store. */
function counted({ backend }: Bench, keys: Partial<Contract.KeyStore> = {}) {
  const { records, batches, limits } = backend.stores!;
  const calls: Record<Verb, number> = { ...none };
  function counting<T extends object, V extends keyof T & Verb>(target: T, verb: V): T {
    const original = target[verb] as (...args: unknown[]) => unknown;
    const wrapped = (...args: unknown[]) => {
      calls[verb]++;
      return original(...args);
    };
    return { ...target, [verb]: wrapped };
  }
  const stores = {
    ...backend.stores!,
    keys: { ...backend.stores!.keys, ...keys },
    records: counting(records, 'purge'),
    batches: counting(batches!, 'toCheck'),
    limits: counting(limits!, 'list'),
  };
  return { calls, backend: counting({ ...backend, stores }, 'reapExpired') };
}

const away = () => Promise.reject(new Error('away'));
const reaps = (those: readonly { calls: Record<Verb, number> }[]) =>
  those.map(({ calls }) => calls.reapExpired);

/** A worker in a process of its own, which stands still until its clock is moved. */
function inOtherProcess(t: Bench) {
  const clock = createVirtualClock(t.clock.now());
  const one = counted(t);
  const worker = startWorker({ ...t.app, clock }, { backend: one.backend });
  return { ...one, clock, worker };
}

describe('the leader of the workers', () => {
  it('is one of three, and does all chores alone', async () => {
    const t = createBench();
    const three = [1, 2, 3].map(() => counted(t));
    const workers = three.map(({ backend }) => t.start({ backend }));
    // The code of a chore is loaded with its first run, and no virtual time makes that quicker.
    await until(async () => {
      await t.pass(500);
      return three.some(({ calls }) => Object.values(calls).every((count) => count > 0));
    });
    for (const { calls } of three) Object.assign(calls, none);
    await t.pass(600_000, 500);
    const [leader, ...others] = three.toSorted((a, b) => b.calls.reapExpired - a.calls.reapExpired);
    expect(leader!.calls.reapExpired).toBeGreaterThan(100);
    expect(leader!.calls.list).toBeGreaterThan(100);
    expect(leader!.calls.purge).toBeGreaterThanOrEqual(5);
    expect(leader!.calls.toCheck).toBeGreaterThanOrEqual(5);
    for (const { calls } of others) {
      expect(calls.purge + calls.toCheck).toBeLessThanOrEqual(2);
      expect(calls.reapExpired).toBeLessThanOrEqual(10); // once a minute, in case that no leader does
      expect(calls.list).toBeLessThanOrEqual(10);
    }
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('takes jobs of dead workers back within 5 s, as a worker alone does', async () => {
    const t = createBench();
    await t.enqueue(1);
    await t.backend.fetch({ queues: ['default'], max: 1, leaseMs: 20_000, waitMs: 0 });
    const workers = [t.start(), t.start()];
    await t.pass(19_900, 100);
    expect(t.eventsOf('worker.reaped')).toHaveLength(0);
    await t.pass(5_200, 100);
    expect(t.eventsOf('worker.reaped')).toHaveLength(1);
    t.running[0]!.finish();
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('takes each job back once beside a worker of a former release, which reaps by itself', async () => {
    const t = createBench();
    await t.enqueue(1);
    await t.backend.fetch({ queues: ['default'], max: 1, leaseMs: 20_000, waitMs: 0 });
    const worker = t.start();
    let count = 0;
    for (let ms = 0; ms < 40_000; ms += 2_500) {
      await t.pass(2_500, 500);
      count += await t.backend.reapExpired('default');
    }
    expect(t.eventsOf('worker.reaped').length + count).toBe(1);
    expect(t.running[0]!.ctx).toMatchObject({ attempt: 2 });
    t.running[0]!.finish();
    await worker.stop();
  });

  it('is replaced within 15 s when it dies', async () => {
    const t = createBench();
    const dead = inOtherProcess(t);
    for (let ms = 0; ms < 20_000; ms += 500) {
      dead.clock.advance(500);
      await t.pass(500);
    }
    const heir = counted(t);
    const worker = t.start({ backend: heir.backend });
    for (let ms = 0; ms < 30_000; ms += 500) {
      dead.clock.advance(500);
      await t.pass(500);
    }
    expect(dead.calls.reapExpired).toBeGreaterThanOrEqual(50 / 5);
    expect(heir.calls.reapExpired).toBe(0);
    await t.pass(20_100, 100);
    expect(heir.calls.reapExpired).toBeGreaterThan(0);
    await worker.stop();
  });

  it('that was frozen leads no more when it wakes', async () => {
    const t = createBench();
    const frozen = inOtherProcess(t);
    for (let ms = 0; ms < 6_000; ms += 500) {
      frozen.clock.advance(500);
      await t.pass(500);
    }
    expect(frozen.calls.reapExpired).toBe(1);
    const other = counted(t);
    const worker = t.start({ backend: other.backend });
    await t.pass(60_000, 500);
    expect(other.calls.reapExpired).toBeGreaterThan(5);
    frozen.clock.advance(60_000);
    await settle();
    const before = frozen.calls.reapExpired;
    for (let ms = 0; ms < 30_000; ms += 500) {
      frozen.clock.advance(500);
      await t.pass(500);
    }
    expect(frozen.calls.reapExpired - before).toBeLessThanOrEqual(1);
    await worker.stop();
  });

  it('that stops is replaced at once by a worker that starts', async () => {
    const t = createBench();
    const first = t.start();
    await t.pass(2_000, 100);
    await first.stop();
    const next = counted(t);
    const worker = t.start({ backend: next.backend });
    await t.pass(5_100, 100);
    expect(next.calls.reapExpired).toBe(1);
    await worker.stop();
  });

  it('that stops while the key store is slow holds the lead no longer', async () => {
    const t = createBench();
    const { claim } = t.backend.stores!.keys;
    const late: Contract.KeyStore['claim'] = async (...key) => {
      await new Promise<void>((resolve) => void t.clock.after(500, resolve));
      return claim(...key);
    };
    const slow = t.start({ backend: counted(t, { claim: late }).backend });
    await t.pass(1_000, 100);
    const stopped = slow.stop();
    await t.pass(1_000, 100);
    await stopped;
    const next = counted(t);
    const worker = t.start({ backend: next.backend });
    await t.pass(5_100, 100);
    expect(next.calls.reapExpired).toBe(1);
    await worker.stop();
  });

  it('leads no worker with other jobs, whose batches it could not end', async () => {
    // Spread, as in life: in step with its own looks, the old worker would always be the one that takes the job it does not know.
    let turns = 0;
    const random = () => {
      turns = (turns + 0.37) % 1;
      return turns;
    };
    const t = createBench({}, { random });
    const old = t.start();
    await t.pass(2_000, 100);
    const over: string[] = [];
    const told = defineJob({
      name: 'told',
      payload: z.object({ batchId: z.string() }),
      handle: async ({ batchId }) => void over.push(batchId),
    });
    const { clock, app } = t;
    const signing = app.keyRing();
    const next = createApp({ jobs: [t.quick, told], clock, random: () => 0.5, signing });
    await t.pass(35_000, 500); // not in step with the other one
    const worker = startWorker(next, { backend: t.backend });
    const client = connect(next, t.backend);
    const options = { delayMs: 86_400_000 };
    await client.batch('mine', [{ n: 1 }], { id: 'mine', job: t.quick, options, onComplete: told });
    await client.stores.records.cancel('batch.mine.0');
    // The code of the chore is loaded with its first run, and no virtual time makes that quicker.
    await until(async () => {
      await t.pass(10_000, 500);
      return over.length > 0;
    });
    expect(over).toEqual(['mine']);
    await Promise.all([old.stop(), worker.stop()]);
  });

  it('leads those that take from the same queues alone', async () => {
    const t = createBench({}, { queues: { mail: {} } });
    const both = [['default'], ['mail'], ['mail', 'default'], ['default', 'mail']].map((queues) => {
      const one = counted(t);
      return { ...one, worker: t.start({ backend: one.backend, queues }) };
    });
    await t.pass(30_000, 500);
    const [first, second, ...twins] = reaps(both);
    expect(first).toBeGreaterThan(5);
    expect(second).toBeGreaterThan(5);
    expect(twins.toSorted((a, b) => a - b)[0]).toBe(0);
    await Promise.all(both.map(({ worker }) => worker.stop()));
  });

  it('is none while the key store is away: then each worker reaps once a minute, and tells so once', async () => {
    const t = createBench();
    const all = [1, 2].map(() => counted(t, { claim: away }));
    const workers = all.map(({ backend }) => t.start({ backend }));
    await t.pass(240_000, 500);
    for (const count of reaps(all)) expect(count).toBeGreaterThanOrEqual(3);
    for (const count of reaps(all)) expect(count).toBeLessThanOrEqual(4);
    expect(t.eventsOf('backend.failed').map(({ during }) => during)).toEqual(
      workers.map(() => 'electing a leader'),
    );
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it.each([3_600_000, -3_600_000])('goes on when the clock of the host is set by %i ms', async (aheadMs) => {
    const t = createBench();
    const all = [1, 2].map(() => counted(t));
    const workers = all.map(({ backend }) => t.start({ backend }));
    await t.pass(20_000, 500);
    const before = reaps(all).reduce((sum, count) => sum + count);
    t.clock.set(aheadMs);
    await t.pass(60_000, 500);
    const after = reaps(all).reduce((sum, count) => sum + count);
    expect(after - before).toBeGreaterThanOrEqual(60 / 5);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('is not needed where leases are shorter than its pace', async () => {
    const t = createBench();
    const all = [1, 2].map(() => counted(t));
    const workers = all.map(({ backend }) => t.start({ backend, leaseMs: 1_000 }));
    await t.pass(10_000, 100);
    for (const count of reaps(all)) expect(count).toBeGreaterThanOrEqual(10);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('is not needed by queues that reap for one process: each worker releases what it held', async () => {
    const t = createBench();
    const { hints: _, ...broker } = t.backend;
    let count = 0;
    const reapExpired = (queue: string) => {
      count++;
      return broker.reapExpired(queue);
    };
    const workers = [1, 2].map(() => t.start({ backend: { ...broker, reapExpired } }));
    await t.pass(20_000, 500);
    expect(count).toBeGreaterThanOrEqual(8);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});
