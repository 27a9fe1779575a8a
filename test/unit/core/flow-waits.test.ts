/** A lease that ends while its attempt waits for something: another worker may run the job, so no handler begins. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { bench, job, startMs } from './kit.ts';
import { recordingBench, withWriter } from './recording-kit.ts';

const leaseMs = 1_000;
/** `pass` takes the time that a frozen process or a slow service takes. */
let pass = (): void => {};
const slowly = async <T>(answer: Promise<T> | T): Promise<T> => {
  const value = await answer;
  pass();
  return value;
};
const never = (): never => {
  throw new Error('Expected that this never runs.');
};

/** Enqueues, leases, and makes the attempt on which something takes longer than the lease. */
async function late(
  b: Pick<ReturnType<typeof bench>, 'client' | 'clock' | 'run'> & { take(leaseMs: number): Promise<Run> },
  one: Job,
  payload: unknown = {},
  how: EnqueueOptions = {},
) {
  pass = () => {};
  await b.client.enqueue(one, payload, how);
  const run = await b.take(leaseMs);
  pass = () => b.clock.advance(leaseMs);
  return b.run(run);
}

const nothing = { outcome: 'requeued', settled: false, error: { code: 'LEASE_LOST' } };

describe('a handler does not begin when the lease has ended during', () => {
  it('the claim of its key', async () => {
    const clock = { now: () => b.clock.now(), after: () => () => {} };
    const { keys } = memory({ clock }).stores!;
    const one = job({ handle: never });
    const slow = { ...keys, claim: (...args: Parameters<typeof keys.claim>) => slowly(keys.claim(...args)) };
    const b: ReturnType<typeof bench> = bench({ jobs: [one], stores: { keys: slow } });
    expect(await late(b, one, {}, { idempotencyKey: 'k' })).toMatchObject(nothing);
    expect(b.kinds()).toEqual(['job.settled']);
  });

  it('the loading of a large payload, and its key is not claimed', async () => {
    const kept = new Map<string, Uint8Array>();
    const payloads = {
      put: async (key: string, bytes: Uint8Array) => void kept.set(key, bytes),
      get: (key: string) => slowly(kept.get(key) ?? null),
      delete: async () => {},
    };
    const keys = { ...memoryStore().keys, claim: never };
    const one = job({ handle: never });
    const b = bench({ jobs: [one], maxBodyBytes: 2_000, stores: { payloads, keys } });
    expect(await late(b, one, 'x'.repeat(5_000), { idempotencyKey: 'k' })).toMatchObject(nothing);
  });

  it('the check by a schema that takes its time', async () => {
    const payload = z.any().refine(() => slowly(true));
    const one = defineJob({ name: 'work', payload, handle: never });
    const b = bench({ jobs: [one] });
    expect(await late(b, one)).toMatchObject(nothing);
  });

  it('the record of its start', async () => {
    const one = job({ handle: never });
    const store = (stores: Stores) =>
      withWriter(stores, (writer) => ({ started: (...args) => slowly(writer.started(...args)) }));
    const b = recordingBench({ jobs: [one], store });
    expect(await late(b, one)).toMatchObject(nothing);
  });

  it('the begin of its transaction, which is rolled back', async () => {
    let rolledBack = 0;
    const tx = {
      sql: { query: never },
      ack: never,
      commit: never,
      rollback: async () => void rolledBack++,
    };
    const queue = (backend: QueueBackend) => ({ ...backend, begin: () => slowly(tx) });
    const one = job({ transaction: true, handle: never });
    const b = recordingBench({ jobs: [one], queue });
    expect(await late(b, one)).toMatchObject(nothing);
    expect(rolledBack).toBe(1);
  });
});

describe('a key that was claimed until the end of a lease', () => {
  it('protects nothing after that, though the lease was renewed meanwhile', async () => {
    const clock = { now: () => b.clock.now(), after: () => () => {} };
    const { keys } = memory({ clock }).stores!;
    const one = job({ handle: never });
    const slow = { ...keys, claim: (...args: Parameters<typeof keys.claim>) => slowly(keys.claim(...args)) };
    const b: ReturnType<typeof bench> = bench({ jobs: [one], stores: { keys: slow } });
    await b.client.enqueue(one, {}, { idempotencyKey: 'k' });
    const run = await b.take(leaseMs);
    pass = () => {
      b.clock.advance(leaseMs);
      run.expiresAt = startMs + 2 * leaseMs;
    };
    expect(await b.run(run)).toMatchObject(nothing);
  });
});
