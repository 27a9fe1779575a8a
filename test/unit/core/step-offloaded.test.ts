/** A large payload is loaded before its check, and deleted only when the job can never run again. */

import { describe, expect, it } from 'vitest';
import { offloaded } from '../../../core/features/payloads/feature.ts';
import type { Verdict } from '../../../core/kernel/attempt/attempt.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bench, job } from './kit.ts';
import { acked, admitted, failed, runStep, settleStep } from './step-kit.ts';

const large = 'x'.repeat(4_000);

async function begin(payload: unknown = large, work = job()) {
  const stored = new Map<string, Uint8Array>();
  const payloads = {
    put: async (key: string, bytes: Uint8Array) => void stored.set(key, bytes),
    get: async (key: string) => stored.get(key) ?? null,
    delete: async (key: string) => void stored.delete(key),
  };
  const { stores } = memory();
  const b = bench({ jobs: [work], maxBodyBytes: 2_000, stores: { ...stores, payloads } });
  await b.client.enqueue(work, payload);
  return { ...b, stored, one: admitted(b.client, await b.take()) };
}

const abandoned = (reason: 'cancelled' | 'exhausted'): Verdict => {
  return { verb: 'abandon', outcome: 'rejected', reason, error: new Error('no') };
};

describe('a payload beside the queue', () => {
  it('is for messages that name one', async () => {
    expect(offloaded.for((await begin()).one)).toBe(true);
    expect(offloaded.for((await begin('small')).one)).toBe(false);
  });

  it('is in the envelope when the next step runs', async () => {
    const { one } = await begin();
    expect(await offloaded.run!(one, () => (one.envelope.payload === large ? acked : failed))).toBe(acked);
  });

  it.each([
    ['an ack', acked, true, 0],
    ['a cancel', abandoned('cancelled'), true, 0],
    ['a retry', failed, true, 1],
    ['a dead letter, which may be retried', abandoned('exhausted'), true, 1],
    ['an ack that changed nothing', acked, false, 1],
  ])('after %s is deleted or kept', async (_, verdict, settled, left) => {
    const { one, stored } = await begin();
    expect(await settleStep(offloaded, one, verdict, { settled })).toBe(settled);
    expect(stored.size).toBe(left);
  });

  it('is deleted with a dead letter that its queue keeps for no time', async () => {
    const { one, stored } = await begin(large, job({ retention: { deadMs: 0 } }));
    await settleStep(offloaded, one, abandoned('exhausted'), { settled: true });
    expect(stored.size).toBe(0);
  });

  it('that is gone ends the job, if the job is not done already', async () => {
    const { one, stored } = await begin();
    stored.clear();
    const order: string[] = [];
    expect(await runStep(offloaded, one, acked, order)).toMatchObject({
      verb: 'abandon',
      reason: 'rejected',
      error: { code: 'PAYLOAD_STORE' },
    });
    expect(order).toEqual([]);
  });
});
