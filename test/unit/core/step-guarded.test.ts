/** The key is claimed before the run, completed with the ack, and released after anything else. */

import { describe, expect, it } from 'vitest';
import { guarded } from '../../../core/features/idempotency/attempt.ts';
import type { End } from '../../../core/kernel/attempt/attempt.ts';
import { abortReason } from '../../../core/kernel/attempt/run.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { bench, job } from './kit.ts';
import { acked, admitted, failed, noting, runStep, settleStep } from './step-kit.ts';

const work = job();

/** @param shares whether queue and keys share a database */
async function begin({ shares = false, idempotencyKey = 'k' as string | null, maxRetries = 3 } = {}) {
  const order: string[] = [];
  const own = memory({ clock: { now: () => b.clock.now(), after: () => () => {} } }).stores!.keys;
  const b = bench({ jobs: [work], ...(!shares && { stores: { keys: noting(order, own) } }) });
  await b.client.enqueue(work, {}, { maxRetries, ...(idempotencyKey !== null && { idempotencyKey }) });
  const one = admitted(b.client, await b.take());
  return { ...b, order, one, keys: b.client.stores.keys };
}

describe('the idempotency key', () => {
  it('is for jobs that have one', async () => {
    expect(guarded.for((await begin()).one)).toBe(true);
    expect(guarded.for((await begin({ idempotencyKey: null })).one)).toBe(false);
  });

  it('is claimed, then completed, and then the queue is told', async () => {
    const { order, one } = await begin();
    expect(await runStep(guarded, one, acked, order)).toBe(acked);
    expect(await settleStep(guarded, one, acked, { order })).toBe(true);
    expect(order).toEqual(['claim', 'run', 'complete', 'queue']);
  });

  it('goes with the ack where queue and keys share a database', async () => {
    const { one } = await begin({ shares: true });
    await runStep(guarded, one, acked);
    const ends: End[] = [];
    await settleStep(guarded, one, acked, { ends });
    expect(ends[0]!.complete).toMatchObject({ key: 'job:work:k', owner: one.run.lease.token, value: '1' });
  });

  it('is released before a failed attempt goes back to the queue', async () => {
    const { order, one, keys, clock } = await begin();
    await runStep(guarded, one, failed, order);
    await settleStep(guarded, one, failed, { order });
    expect(order).toEqual(['claim', 'run', 'release', 'queue']);
    expect((await keys.claim('job:work:k', 'another', clock.now() + 1)).state).toBe('claimed');
  });

  it('that is held elsewhere releases the job, and its holder keeps the key', async () => {
    const { order, one, keys, clock } = await begin();
    await keys.claim('job:work:k', 'another', clock.now() + 2_000);
    order.length = 0;
    const verdict = await runStep(guarded, one, acked, order);
    expect(verdict).toMatchObject({ verb: 'nack', delayMs: 2_000, countAttempt: false });
    await settleStep(guarded, one, verdict, { order });
    expect(order).toEqual(['claim', 'queue']);
  });

  it('that a sleeping job keeps is given back once, and asked for when that job has had it', async () => {
    const { order, one, keys, client, clock } = await begin();
    const { id } = await client.enqueue(work, {});
    const holder = { id, wakesAt: clock.now() + 1_000, keepUntil: clock.now() + 86_400_000 };
    await keys.claim('job:work:k', 'asleep', clock.now() + 1_000);
    await keys.release('job:work:k', 'asleep', {
      value: JSON.stringify({ holder }),
      keepUntil: holder.keepUntil,
    });
    order.length = 0;
    const verdict = await runStep(guarded, one, acked, order);
    expect(verdict).toMatchObject({ verb: 'nack', delayMs: 5_000, countAttempt: false });
    await settleStep(guarded, one, verdict, { order });
    expect(order).toEqual(['claim', 'release', 'queue']);
  });

  it('of one attempt too many is a crash loop only when it is not done', async () => {
    const loop = await begin({ maxRetries: 0 });
    const late = { ...loop.one, number: 2 };
    expect(await runStep(guarded, late, acked, loop.order)).toMatchObject({ reason: 'crash-loop' });
    const done = await begin({ maxRetries: 0 });
    await done.keys.claim('job:work:k', 'first', done.clock.now() + 1);
    await done.keys.complete('job:work:k', 'first', { value: '1', keepUntil: done.clock.now() + 1_000 });
    expect(await runStep(guarded, { ...done.one, number: 2 }, acked)).toMatchObject({
      outcome: 'skipped-idempotent',
      output: '1',
    });
  });

  it('that was lost during the run tells the queue nothing', async () => {
    const { order, one, keys } = await begin();
    await runStep(guarded, one, acked);
    await keys.release('job:work:k', one.run.lease.token);
    order.length = 0;
    expect(await settleStep(guarded, one, acked, { order })).toBe(false);
    expect(order).toEqual(['complete']);
  });

  it('is kept by a run that lost its lease, until its hold ends', async () => {
    const { one, run, keys, clock, order } = await begin();
    one.run.end('lease-lost');
    expect((await run(one.run)).error).toMatchObject({ code: abortReason('lease-lost').code });
    expect(order).not.toContain('release');
    expect((await keys.claim('job:work:k', 'another', clock.now() + 1)).state).toBe('running');
  });
});
