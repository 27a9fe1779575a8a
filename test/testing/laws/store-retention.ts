import assert from 'node:assert/strict';
import type { Retention } from '../../../core/contract/store.ts';
import { day, type Kit, minute, reportOf, reports, second } from './kit.ts';
import type { Law } from './law.ts';

export async function purgeAll(t: Kit, olderThan?: Retention): Promise<number> {
  let total = 0;
  for (let step = 0; step < 1_000; step++) {
    const removed = await t.stores.records.purge(olderThan);
    if (removed === 0) return total;
    total += removed;
  }
  throw new assert.AssertionError({ message: 'purge must come to an end' });
}

/** One job in every state a job can be in, all of them now. */
async function oneOfEach(t: Kit) {
  const completed = await t.put();
  await t.ack(await t.take());
  const cancelled = await t.put();
  await t.stores.records.cancel(cancelled.id);
  const failed = await t.put();
  await t.backend.abandon(await t.take(), { reason: 'permanent', error: '' });
  const expired = await t.put();
  await t.backend.abandon(await t.take(), { reason: 'expired', error: '' });
  const running = await t.put();
  await t.take({ leaseMs: 1_000 * day });
  const retrying = await t.put();
  await t.backend.nack(await t.take(), { delayMs: 500 * day, countAttempt: true });
  const pending = await t.put();
  const delayed = await t.put({ notBefore: t.now() + 500 * day });
  const ids = (messages: { id: string }[]) => messages.map(({ id }) => id);
  return {
    ended: ids([completed, cancelled]),
    dead: ids([failed, expired]),
    live: ids([running, retrying, pending, delayed]),
  };
}

async function kept(t: Kit, ids: readonly string[]): Promise<boolean[]> {
  const answers = [];
  for (const id of ids) answers.push((await t.stores.records.get(id)) !== null);
  return answers;
}

export function retentionLaws(law: Law): void {
  law('purge removes ended jobs older than given, and never a live one', async (t) => {
    const { ended, dead, live } = await oneOfEach(t);
    await t.advance(day);
    const recent = await t.put({ queue: reports });
    await t.ack(await t.take({ queues: [reports] }));
    assert.equal(await purgeAll(t, { completedMs: 2 * day, deadMs: 2 * day }), 0);
    assert.equal(await purgeAll(t, { completedMs: day / 2, deadMs: 2 * day }), 2);
    assert.deepEqual(await kept(t, ended), [false, false]);
    assert.deepEqual(await kept(t, [...dead, recent.id]), [true, true, true]);
    assert.equal(await purgeAll(t, { completedMs: 2 * day, deadMs: day / 2 }), 2);
    assert.deepEqual(await kept(t, [...dead, recent.id]), [false, false, true]);
    assert.deepEqual(await kept(t, live), [true, true, true, true]);
  });

  law(
    'purge without arguments keeps what the store was asked to keep',
    async (t) => {
      const { ended, dead, live } = await oneOfEach(t);
      await t.advance(day - minute);
      assert.equal(await purgeAll(t), 0);
      await t.advance(2 * minute);
      assert.equal(await purgeAll(t), 2);
      assert.deepEqual(await kept(t, [...ended, ...dead]), [false, false, true, true]);
      await t.advance(2 * day);
      assert.equal(await purgeAll(t), 2);
      assert.deepEqual(await kept(t, dead), [false, false]);
      assert.deepEqual(await kept(t, live), [true, true, true, true]);
    },
    { retention: { completedMs: day, deadMs: 3 * day } },
  );

  law('purge comes to an end, however much there is', async (t) => {
    await t.backend.enqueue(Array.from({ length: 2_500 }, () => t.message()));
    const leases = await t.takeAll(2_500);
    await t.backend.ack(leases.map((lease) => ({ lease })));
    const waiting = await t.put();
    await t.advance(second);
    assert.equal(await purgeAll(t, { completedMs: 0, deadMs: 0 }), leases.length);
    const left = (await t.stores.records.page({ status: 'completed' })).records;
    assert.equal(left.length, 0);
    assert.deepEqual(await kept(t, [waiting.id]), [true]);
  });

  law('what was purged is forgotten altogether', async (t) => {
    const { ended, dead } = await oneOfEach(t);
    await t.advance(minute);
    await purgeAll(t, { completedMs: 0, deadMs: 0 });
    const { records } = t.stores;
    for (const id of [...ended, ...dead]) assert.equal(await records.cancel(id), 'unknown');
    assert.deepEqual(await t.admin.deadLetters.list({}), []);
    assert.equal((await records.page({})).records.length, 4);
  });

  law(
    'with a retention of 0 the record goes when it ends, unless it is a dead letter',
    async (t) => {
      const done = await t.put();
      const lease = await t.take();
      const report = reportOf(lease, t.now(), 'acked');
      assert.deepEqual(await t.backend.ack([{ lease, report }]), [true]);
      const cancelled = await t.put();
      assert.equal(await t.stores.records.cancel(cancelled.id), 'cancelled');
      const stopped = await t.put();
      await t.backend.abandon(await t.take(), { reason: 'cancelled', error: '' });
      const expired = await t.put();
      await t.backend.abandon(await t.take(), { reason: 'expired', error: '' });
      const failed = await t.put();
      await t.backend.abandon(await t.take(), { reason: 'permanent', error: '' });
      const ids = [done, cancelled, stopped, expired, failed].map(({ id }) => id);
      assert.deepEqual(await kept(t, ids), [false, false, false, true, true]);
      assert.equal(await t.ack(lease), false);
      await t.nothingEverComes();
    },
    { retention: { completedMs: 0 } },
  );

  law(
    'with a retention of 0 the record goes too when a nack or a reaping ends a job that was asked to stop',
    async (t) => {
      const [nacked, reaped] = [await t.put(), await t.put()];
      const [lease] = await t.takeAll(1);
      await t.take({ leaseMs: second });
      for (const { id } of [nacked, reaped]) await t.stores.records.cancel(id);
      assert.equal(await t.backend.nack(lease!, { delayMs: 0, countAttempt: true }), true);
      await t.advance(second);
      await t.reap();
      assert.deepEqual(await kept(t, [nacked.id, reaped.id]), [false, false]);
      await t.nothingEverComes();
    },
    { retention: { completedMs: 0 } },
  );
}
