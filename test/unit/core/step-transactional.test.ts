/** The transaction begins before the run; the ack commits it, anything else rolls it back. */

import { describe, expect, it } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { Ack, JobTransaction, QueueBackend } from '../../../core/contract/queue.ts';
import { transactional } from '../../../core/features/transactions/feature.ts';
import { failedCommit } from '../../../core/kernel/attempt/verdict.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { bench, job } from './kit.ts';
import { acked, admitted, failed, runStep, settleStep } from './step-kit.ts';

const work = job({ transaction: true });

async function begin(ack: (ack: Ack) => Promise<boolean> = async () => true) {
  const order: string[] = [];
  const tx: JobTransaction = {
    sql: { query: async () => ({ rows: [] }) },
    ack(one) {
      order.push('commit');
      return ack(one);
    },
    commit: async () => true,
    rollback: async () => void order.push('rollback'),
  };
  const wrap = (to: QueueBackend): QueueBackend => ({
    ...to,
    async begin() {
      order.push('begin');
      return tx;
    },
    async nack(lease, how) {
      order.push('nack');
      return to.nack(lease, how);
    },
  });
  const b = bench({ jobs: [work, job({ name: 'plain' })], wrap });
  const { client } = b;
  await client.enqueue(work, {});
  const run = await b.take();
  return { ...b, client, order, run, one: admitted(client, run) };
}

describe('the transaction of a handler', () => {
  it('is for jobs that ask for one', async () => {
    const { one, app } = await begin();
    expect(transactional.for(one)).toBe(true);
    expect(transactional.for({ ...one, job: app.jobs.get('plain')! })).toBe(false);
  });

  it('begins, runs, and is committed instead of a plain ack', async () => {
    const { one, order } = await begin();
    await runStep(transactional, one, acked, order);
    expect(await settleStep(transactional, one, acked, { order })).toBe(true);
    expect(order).toEqual(['begin', 'run', 'commit']);
  });

  it('is rolled back after a failure, before the queue is told', async () => {
    const { one, order } = await begin();
    await runStep(transactional, one, failed, order);
    await settleStep(transactional, one, failed, { order });
    expect(order).toEqual(['begin', 'run', 'rollback', 'queue']);
  });

  it('that cannot be committed is a failed attempt, once', async () => {
    const refused = new LongshoreError('HANDLER', 'deferred constraint');
    const { client, app, run, order } = await begin(() => Promise.reject(refused));
    expect(await attempt(app, { client, settler: client.backend }, run)).toMatchObject({
      outcome: 'requeued',
      settled: true,
      error: { code: 'HANDLER' },
    });
    expect(order).toEqual(['begin', 'commit', 'nack']);
  });

  it('whose commit is in doubt settles nothing', async () => {
    const broken = new LongshoreError('BACKEND', 'connection lost');
    const { client, app, run, order, one } = await begin(() => Promise.reject(broken));
    await expect(attempt(app, { client, settler: client.backend }, run)).rejects.toBe(broken);
    expect(order).toEqual(['begin', 'commit']);
    expect(() => failedCommit(one, broken)).toThrow(broken);
  });
});
