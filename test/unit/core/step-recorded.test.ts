/** The record is written before the queue is told, unless the lease seems over or a transaction has to commit first. */

import { describe, expect, it } from 'vitest';
import type { JobTransaction } from '../../../core/contract/queue.ts';
import { recorded, recordedAfterCommit } from '../../../core/features/records/attempt.ts';
import { job } from './kit.ts';
import { type RecordingOptions, recordingBench, withWriter } from './recording-kit.ts';
import { acked, admitted, failed, noting, runStep, settleStep } from './step-kit.ts';

const work = job();
const tx = {} as JobTransaction;

async function begin(options: Partial<RecordingOptions> = {}) {
  const order: string[] = [];
  const store: RecordingOptions['store'] = (stores) => withWriter(stores, (writer) => noting(order, writer));
  const t = recordingBench({ jobs: [work], store, ...options });
  await t.client.enqueue(work, {});
  order.length = 0;
  return { ...t, order, one: admitted(t.client, await t.take()) };
}

describe('the record of an attempt', () => {
  it('is for queues that keep none themselves', async () => {
    expect(recorded.for((await begin()).one)).toBe(true);
    expect(recorded.for((await begin({ ownRecords: true })).one)).toBe(false);
  });

  it('is not written for a message that is not the job’s own', async () => {
    const { one } = await begin();
    expect(recorded.for({ ...one, envelope: null })).toBe(false);
  });

  it('says the start, then the end, and then the queue is told', async () => {
    const { order, one, record } = await begin();
    await runStep(recorded, one, acked, order);
    await settleStep(recorded, one, acked, { order });
    expect(order).toEqual(['started', 'run', 'settled', 'queue']);
    expect((await record()).status).toBe('completed');
  });

  it('follows the queue where the lease is over as far as we know', async () => {
    const { order, one, clock } = await begin();
    await runStep(recorded, one, acked);
    clock.advance(60_000);
    order.length = 0;
    await settleStep(recorded, one, acked, { order });
    expect(order).toEqual(['queue', 'settled']);
    order.length = 0;
    expect(await settleStep(recorded, one, acked, { order, settled: false })).toBe(false);
    expect(order).toEqual(['queue']);
  });

  it('of a transaction is written only after its commit', async () => {
    const { order, one } = await begin();
    await runStep(recorded, one, acked);
    expect(recordedAfterCommit.for(one)).toBe(false);
    one.run.tx = tx;
    expect(recordedAfterCommit.for(one)).toBe(true);
    order.length = 0;
    await settleStep(recorded, one, acked, { order });
    expect(order).toEqual(['queue']);
    await settleStep(recordedAfterCommit, one, acked, { order, settled: false });
    expect(order).toEqual(['queue', 'queue']);
    await settleStep(recordedAfterCommit, one, acked, { order });
    expect(order).toEqual(['queue', 'queue', 'queue', 'settled']);
  });

  it('of a job that was cancelled while it waited answers instead of the handler, and stays as it is', async () => {
    const { order, one, client, clock } = await begin();
    await client.cancel('id-1');
    clock.advance(1);
    const verdict = await runStep(recorded, one, acked, order);
    expect(verdict).toMatchObject({ verb: 'abandon', reason: 'cancelled' });
    await settleStep(recorded, one, verdict, { order });
    expect(order).toEqual(['started', 'queue']);
  });

  it('that cannot be written stops nothing, and is an event', async () => {
    const away = () => Promise.reject(new Error('away'));
    const { one, failures } = await begin({
      store: (stores) => withWriter(stores, () => ({ started: away, settled: away })),
    });
    expect(await runStep(recorded, one, failed)).toBe(failed);
    expect(await settleStep(recorded, one, failed)).toBe(true);
    expect(failures().map(({ during }) => during)).toEqual(['recording a start', 'recording an end']);
  });
});
