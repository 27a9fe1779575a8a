/** Operators list records and cancel jobs. */

import assert from 'node:assert/strict';
import type { JobStatus } from '../../../core/contract/outcome.ts';
import { hour, type Kit, mail, minute, reportOf, reports, second } from './kit.ts';
import type { Law } from './law.ts';

const statusOf = async (t: Kit, id: string): Promise<JobStatus | null> =>
  (await t.stores.records.get(id))?.status ?? null;

export function recordListLaws(law: Law): void {
  law('records are listed newest first, at most max', async (t) => {
    const ids = [];
    for (let i = 0; i < 4; i++) {
      ids.unshift((await t.put()).id);
      await t.advance(second);
    }
    const { records } = t.stores;
    const listed = async (max?: number) =>
      (await records.page(max === undefined ? {} : { max })).records.map(({ id }) => id);
    assert.deepEqual(await listed(), ids);
    assert.deepEqual(await listed(2), ids.slice(0, 2));
  });

  law('a listed record is the same as the one that is read alone', async (t) => {
    await t.put();
    const lease = await t.take();
    const report = reportOf(lease, t.now(), 'acked', { output: '{"pages":3}' });
    await t.backend.ack([{ lease, report }]);
    const [listed] = (await t.stores.records.page({})).records;
    assert.deepEqual(listed, await t.stores.records.get(listed!.id));
  });

  law('a list can be narrowed by queue, by job and by status', async (t) => {
    const { records } = t.stores;
    const done = await t.put({ job: 'invoice.send' });
    await t.ack(await t.take());
    const retrying = await t.put({ job: 'invoice.send' });
    await t.backend.nack(await t.take(), { delayMs: hour, countAttempt: true });
    const failed = await t.put({ job: 'invoice.remind' });
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: '' });
    const expired = await t.put();
    await t.backend.abandon(await t.take(), { reason: 'expired', error: '' });
    const cancelled = await t.put();
    await records.cancel(cancelled.id);
    const running = await t.put({ job: 'invoice.remind' });
    await t.take();
    const pending = await t.put({ queue: reports, job: 'report.nightly' });
    const delayed = await t.put({ queue: reports, notBefore: t.now() + hour, job: 'invoice.send' });

    const listed = async (filter: Parameters<typeof records.page>[0]) =>
      (await records.page(filter)).records.map(({ id }) => id);
    assert.deepEqual(await listed({ queue: reports }), [delayed.id, pending.id]);
    assert.deepEqual(await listed({ job: 'invoice.remind' }), [running.id, failed.id]);
    assert.deepEqual(await listed({ queue: mail, job: 'report.nightly' }), []);
    const byStatus = { pending: [delayed.id, pending.id], processing: [running.id], retrying: [retrying.id] };
    const ended = {
      completed: [done.id],
      failed: [failed.id],
      expired: [expired.id],
      cancelled: [cancelled.id],
    };
    for (const [status, ids] of Object.entries({ ...byStatus, ...ended })) {
      assert.deepEqual(await listed({ status: status as JobStatus }), ids, status);
    }
    assert.deepEqual(await listed({ queue: reports, job: 'invoice.send', status: 'pending' }), [delayed.id]);
  });
}

export function cancelLaws(law: Law): void {
  law('a waiting job is cancelled at once and never given out', async (t) => {
    const ready = await t.put();
    const delayed = await t.put({ notBefore: t.now() + minute });
    for (const { id } of [ready, delayed]) {
      assert.equal(await t.stores.records.cancel(id), 'cancelled');
      const record = await t.stores.records.get(id);
      assert.deepEqual([record?.status, record?.reason], ['cancelled', 'cancelled']);
      assert.notEqual(record?.finishedAt, null);
    }
    await t.nothingEverComes();
  });

  law('a job that waits for a retry is cancelled at once', async (t) => {
    const { id } = await t.put();
    await t.backend.nack(await t.take(), { delayMs: minute, countAttempt: true });
    assert.equal(await t.stores.records.cancel(id), 'cancelled');
    await t.nothingEverComes();
  });

  law('a running job is asked to stop, and its worker finds out', async (t) => {
    const { records } = t.stores;
    const [wanted, other] = [await t.put(), await t.put()];
    await t.takeAll();
    assert.equal(await records.cancel(wanted.id), 'cancelling');
    assert.equal(await records.cancel(wanted.id), 'cancelling');
    assert.deepEqual(await records.cancelRequested([other.id, wanted.id, 'unknown']), [wanted.id]);
    assert.deepEqual(await records.cancelRequested([]), []);
    assert.equal(await statusOf(t, wanted.id), 'processing');
  });

  for (const countAttempt of [true, false]) {
    const how = countAttempt ? 'nacked' : 'released';
    law(`a job that is ${how} after it was asked to stop ends as cancelled`, async (t) => {
      const { id } = await t.put();
      const lease = await t.take();
      await t.stores.records.cancel(id);
      assert.equal(await t.backend.nack(lease, { delayMs: 0, countAttempt }), true);
      const record = await t.stores.records.get(id);
      assert.deepEqual([record?.status, record?.reason], ['cancelled', 'cancelled']);
      assert.notEqual(record?.finishedAt, null);
      await t.nothingEverComes();
    });
  }

  law(
    'a job that is reaped after it was asked to stop ends as cancelled',
    async (t) => {
      const { id } = await t.put();
      await t.take({ leaseMs: second });
      await t.stores.records.cancel(id);
      await t.advance(second);
      await t.reap();
      const record = await t.stores.records.get(id);
      assert.deepEqual(
        [record?.status, record?.attempts.map(({ outcome }) => outcome)],
        ['cancelled', ['interrupted']],
      );
      await t.nothingEverComes();
    },
    { knownByQueue: true },
  );

  law('a job that ended by itself after it was asked to stop keeps that end', async (t) => {
    const { records } = t.stores;
    const [done, failed] = [await t.put(), await t.put()];
    const [first, last] = await t.takeAll();
    for (const { id } of [done, failed]) await records.cancel(id);
    assert.equal(await t.ack(first!), true);
    assert.equal(await t.backend.abandon(last!, { reason: 'permanent', error: '' }), true);
    assert.deepEqual([await statusOf(t, done.id), await statusOf(t, failed.id)], ['completed', 'failed']);
    assert.deepEqual(await records.cancelRequested([done.id, failed.id]), []);
  });

  law('a dead letter that was once asked to stop runs normally when it is retried', async (t) => {
    const { id } = await t.put();
    const lease = await t.take();
    await t.stores.records.cancel(id);
    await t.backend.abandon(lease, { reason: 'permanent', error: '' });
    await t.admin.deadLetters.retry([id]);
    const again = await t.take();
    assert.deepEqual(await t.stores.records.cancelRequested([id]), []);
    await t.backend.nack(again, { delayMs: 0, countAttempt: true });
    assert.equal((await t.take()).attempt, 2);
  });

  law('a finished job cannot be cancelled', async (t) => {
    const { records } = t.stores;
    const done = await t.put();
    await t.ack(await t.take());
    const failed = await t.put();
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: '' });
    const cancelled = await t.put();
    await records.cancel(cancelled.id);
    for (const [{ id }, status] of [
      [done, 'completed'],
      [failed, 'failed'],
      [cancelled, 'cancelled'],
    ] as const) {
      assert.equal(await records.cancel(id), 'finished');
      assert.equal(await statusOf(t, id), status);
    }
  });

  law('an unknown job cannot be cancelled', async (t) => {
    assert.equal(await t.stores.records.cancel('unknown'), 'unknown');
  });
}
