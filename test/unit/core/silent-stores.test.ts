/** A store that never answers: an attempt waits for it as long as it may, and then goes on, is released or fails. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { foreign } from '../../../core/kernel/enqueue/foreign.ts';
// Loaded here, because the clock of these tests does not wait for a module.
import '../../../core/features/payloads/attempt.ts';
import '../../../core/kernel/enqueue/foreign-job.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import type { Run } from '../../../core/kernel/attempt/run.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { settle } from '../worker/kit.ts';
import { bench, job } from './kit.ts';
import { recordingBench, withWriter } from './recording-kit.ts';

const leaseMs = 30_000;
const thirdMs = 10_000;
const silent = (): Promise<never> => new Promise(() => {});

type OneBench = Pick<ReturnType<typeof bench>, 'client' | 'clock' | 'run'> & {
  take(leaseMs: number): Promise<Run>;
};

/** Whether the attempt has ended after so long, and how. Its lease is renewed, as a worker does it. */
async function endsAfter(
  b: OneBench,
  one: Job,
  waitMs: number,
  how: EnqueueOptions & { payload?: unknown } = {},
): Promise<{ early: boolean; result: AttemptResult | null; error: unknown }> {
  const { payload = {}, ...options } = how;
  await b.client.enqueue(one, payload, options);
  const run = await b.take(leaseMs);
  const seen = { early: false, result: null as AttemptResult | null, error: null as unknown };
  b.run(run).then(
    (result) => {
      seen.result = result;
    },
    (error) => {
      seen.error = error;
    },
  );
  const step = async (ms: number) => {
    b.clock.advance(ms);
    run.expiresAt = Math.max(run.expiresAt, b.clock.now() + leaseMs);
    await settle();
  };
  await step(0);
  for (let leftMs = waitMs - 1; leftMs > 0; leftMs -= thirdMs) await step(Math.min(thirdMs, leftMs));
  seen.early = seen.result !== null || seen.error !== null;
  await step(1);
  return seen;
}

const inVain = (): never => {
  throw new Error('Expected that this never runs.');
};

describe('while a store never answers', () => {
  it('a job is released that needs its key, after a third of the lease', async () => {
    const one = job({ handle: inVain });
    const b = bench({ jobs: [one], stores: { keys: { ...memoryStore().keys, claim: silent } } });
    const { early, result } = await endsAfter(b, one, thirdMs, { idempotencyKey: 'k' });
    expect(early).toBe(false);
    expect(result).toMatchObject({
      outcome: 'requeued',
      counted: false,
      settled: true,
      error: { code: 'BACKEND', message: 'The key store gave no answer for 10000 ms.' },
    });
  });

  it('a failed job is released without its key, which ends with the lease', async () => {
    const one = job({
      handle: () => {
        throw new Error('down');
      },
    });
    const b = bench({ jobs: [one], stores: { keys: { ...memoryStore().keys, release: silent } } });
    const { early, result } = await endsAfter(b, one, thirdMs, { idempotencyKey: 'k' });
    expect({ early, ...result }).toMatchObject({ early: false, outcome: 'requeued', settled: true });
  });

  it('a job that is done is not acked without its key: its lease runs out', async () => {
    const one = job();
    const b = bench({ jobs: [one], stores: { keys: { ...memoryStore().keys, complete: silent } } });
    const { early, error } = await endsAfter(b, one, thirdMs, { idempotencyKey: 'k' });
    expect({ early, error }).toMatchObject({ early: false, error: { code: 'BACKEND' } });
  });

  it.each(['started', 'settled'] as const)('a job runs, and its record is behind: %s', async (verb) => {
    const one = job();
    const b = recordingBench({
      jobs: [one],
      store: (stores) => withWriter(stores, () => ({ [verb]: silent })),
    });
    const { early, result } = await endsAfter(b, one, thirdMs);
    expect({ early, ...result }).toMatchObject({ early: false, outcome: 'acked', settled: true });
    expect(b.failures()).toMatchObject([
      { error: { message: expect.stringMatching(/^The record store gave no answer/) } },
    ]);
  });

  it('a job fails whose payload does not come within its timeout', async () => {
    const kept = new Map<string, Uint8Array>();
    const payloads: PayloadStore = {
      put: async (key, bytes) => void kept.set(key, bytes),
      get: silent,
      delete: async () => {},
    };
    const one = job({ handle: inVain, timeoutMs: 20_000 });
    const b = bench({ jobs: [one], maxBodyBytes: 2_000, stores: { payloads } });
    const { early, result } = await endsAfter(b, one, 20_000, { payload: 'x'.repeat(5_000) });
    expect(early).toBe(false);
    expect(result).toMatchObject({ outcome: 'requeued', counted: true, error: { code: 'BACKEND' } });
  });

  it('a job fails whose schema takes longer than its timeout', async () => {
    let checks = 0;
    const payload = z.any().refine(() => (checks++ === 0 ? true : silent()));
    const one = defineJob({ name: 'work', payload, handle: inVain, timeoutMs: 20_000 });
    const { early, result } = await endsAfter(bench({ jobs: [one] }), one, 20_000);
    expect(early).toBe(false);
    expect(result).toMatchObject({
      outcome: 'requeued',
      counted: true,
      error: { message: 'The schema gave no answer for 20000 ms.' },
    });
  });

  it('the message of another program is left to its lease whose schema takes longer than 30 s', async () => {
    const one = defineJob({
      name: 'work',
      payload: z.any().refine(silent),
      idempotencyKey: () => 'key',
      handle: inVain,
    });
    const b = bench({ jobs: [one] });
    const take = foreign(b.app, { from: () => 'them', senders: ['them'], job: one, map: (body) => body });
    let error: unknown = null;
    void take({ queue: 'default', messageId: 'm-1', body: '{}', sentAt: null }).catch((thrown) => {
      error = thrown;
    });
    await settle();
    b.clock.advance(29_999);
    await settle();
    expect(error).toBeNull();
    b.clock.advance(1);
    await settle();
    expect(error).toMatchObject({
      code: 'BACKEND',
      message: expect.stringContaining('no answer for 30000 ms'),
    });
  });

  it('no transaction is waited for longer than its job may take, and one that comes late is rolled back', async () => {
    const begun = Promise.withResolvers<Awaited<ReturnType<NonNullable<QueueBackend['begin']>>>>();
    let rolledBack = 0;
    const queue = (backend: QueueBackend) => ({ ...backend, begin: () => begun.promise });
    const one = job({ transaction: true, handle: inVain, timeoutMs: 20_000 });
    const { early, error } = await endsAfter(recordingBench({ jobs: [one], queue }), one, 20_000);
    expect({ early, error }).toMatchObject({ early: false, error: { code: 'BACKEND' } });
    begun.resolve({
      sql: { query: inVain },
      ack: inVain,
      commit: inVain,
      rollback: async () => void rolledBack++,
    });
    await settle();
    expect(rolledBack).toBe(1);
  });
});
