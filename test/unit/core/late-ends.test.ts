/** A store that is away when a job ends hears of the end when it is back. */

import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { startWorker } from '../../../core/index.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { endsWritten, lastEndsWritten } from '../../../core/kernel/attempt/late-ends.ts';
import { settle } from '../worker/kit.ts';
import { job } from './kit.ts';
import { type RecordingBench, recordingBench, withWriter } from './recording-kit.ts';

interface Gate {
  isAway: boolean;
  tries: number;
  /** Never taken, whatever comes. */
  refused: string | null;
}

function bench(options: Parameters<typeof recordingBench>[0]): RecordingBench & { gate: Gate } {
  const gate: Gate = { isAway: false, tries: 0, refused: null };
  const store = (stores: Stores) =>
    withWriter(stores, (writer) => ({
      settled(one, ...rest) {
        gate.tries++;
        const fails = gate.isAway || one.id === gate.refused;
        return fails ? Promise.reject(new Error('the table is away')) : writer.settled(one, ...rest);
      },
    }));
  return { ...recordingBench({ store, ...options }), gate };
}

async function pass(t: RecordingBench, ms: number, stepMs = 1_000): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    t.clock.advance(stepMs);
    await settle(4);
  }
}

describe('an end that could not be recorded', () => {
  const works = () => job({ handle: () => 'sent' });
  const dies = () =>
    job({
      handle: () => {
        throw new PermanentError('no such address');
      },
    });

  it.each([
    { name: 'done', one: works(), status: { status: 'completed', output: 'sent' } },
    { name: 'dead', one: dies(), status: { status: 'failed', reason: 'permanent' } },
  ])('of a job that is $name is there when the store is', async ({ one, status }) => {
    const t = bench({ jobs: [one] });
    await t.client.enqueue(one, {});
    t.gate.isAway = true;
    const endedAt = t.clock.now();
    expect((await t.next()).settled).toBe(true);
    await pass(t, 30_000);
    expect(await t.record()).toMatchObject({ status: 'processing' });
    expect(t.failures()).toHaveLength(1);
    expect(t.gate.tries).toBeLessThan(8);
    t.gate.isAway = false;
    await pass(t, 30_000);
    expect(await t.record()).toMatchObject({ ...status, finishedAt: endedAt, attempts: [{ attempt: 1 }] });
    const { tries } = t.gate;
    await pass(t, 120_000);
    expect([t.gate.tries, t.failures().length]).toEqual([tries, 1]);
  });

  it('is not written where the settlement took no effect', async () => {
    const one = works();
    const t = bench({ jobs: [one], settler: (queue) => ({ ...queue, ack: async () => [false] }) });
    await t.client.enqueue(one, {});
    t.gate.isAway = true;
    expect((await t.next()).settled).toBe(false);
    t.gate.isAway = false;
    await pass(t, 60_000);
    expect(await t.record()).toMatchObject({ status: 'processing' });
  });

  it('changes nothing where a later attempt has begun meanwhile', async () => {
    let runs = 0;
    const one = job({
      maxRetries: 1,
      handle: () => {
        if (runs++ === 0) throw new Error('busy');
      },
      retry: fixed(5_000),
    });
    const t = bench({ jobs: [one] });
    await t.client.enqueue(one, {});
    t.gate.isAway = true;
    await t.next();
    await pass(t, 5_000);
    t.gate.isAway = false;
    await t.next();
    await pass(t, 60_000);
    const record = await t.record();
    expect(record).toMatchObject({ status: 'completed' });
    expect(record.attempts.map(({ outcome }) => outcome)).toEqual(['requeued', 'acked']);
  });

  it('is written when its function answers, and waits in the process when it cannot be', async () => {
    const one = works();
    const t = bench({ jobs: [one] });
    await t.client.enqueue(one, {});
    t.gate.isAway = true;
    await t.next();
    await endsWritten(t.client);
    expect(await t.record()).toMatchObject({ status: 'processing' });
    t.gate.isAway = false;
    await endsWritten(t.client);
    expect(await t.record()).toMatchObject({ status: 'completed' });
  });

  it('is tried a last time by a worker that stops, and then given up', async () => {
    for (const isBack of [true, false]) {
      const one = works();
      const t = bench({ jobs: [one] });
      await t.client.enqueue(one, {});
      t.gate.isAway = true;
      const { backend, stores: store } = t.client;
      const worker = startWorker(t.app, { backend, store });
      await settle();
      t.gate.isAway = !isBack;
      await worker.stop();
      expect(await t.record()).toMatchObject({ status: isBack ? 'completed' : 'processing' });
      expect(t.failures().map(({ error }) => error.message)).toEqual([
        'The record store failed while recording an end: the table is away',
        ...(isBack ? [] : ['The end of a job was not recorded and is given up: the worker has stopped.']),
      ]);
      const { tries } = t.gate;
      t.clock.advance(2 * 3_600_000);
      await settle();
      expect(t.gate.tries).toBe(tries);
      const status = isBack
        ? { status: 'completed' }
        : { status: 'failed', error: expect.stringContaining('How it ended is not known') };
      expect(await t.record()).toMatchObject(status);
    }
  });

  it('is given up after an hour, and the oldest when 1,000 others wait', async () => {
    const one = works();
    const t = bench({ jobs: [one] });
    t.gate.isAway = true;
    for (let i = 0; i < 1_001; i++) {
      await t.client.enqueue(one, {});
      await t.next();
    }
    const givenUp = () => t.failures().filter(({ error }) => error.message.includes('is given up'));
    expect(givenUp().map(({ ids }) => ids)).toEqual([['id-1']]);
    await pass(t, 3_660_000, 30_000);
    const [, hour] = givenUp();
    expect([hour?.ids.length, hour?.error.message]).toEqual([
      1_000,
      'The end of 1000 jobs was not recorded and is given up: it has failed for an hour.',
    ]);
    t.gate.isAway = false;
    const { tries } = t.gate;
    await lastEndsWritten(t.client);
    expect(t.gate.tries).toBe(tries);
  });

  it('that can never be written holds up no other', async () => {
    const one = works();
    const t = bench({ jobs: [one] });
    t.gate.isAway = true;
    for (let i = 0; i < 20; i++) {
      await t.client.enqueue(one, {});
      await t.next();
    }
    t.gate.isAway = false;
    t.gate.refused = 'id-1';
    await pass(t, 60_000);
    for (let i = 1; i <= 20; i++)
      expect((await t.record(`id-${i}`)).status).toBe(i === 1 ? 'processing' : 'completed');
  });
});
