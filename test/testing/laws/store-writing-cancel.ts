/** Cancelling where the queue cannot be asked to give a message up: the next attempt learns that it must not run. */

import assert from 'node:assert/strict';
import { day, hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { outcomesOf, recorder, reportAt } from './store-writing-kit.ts';

export function writtenCancelLaws(law: Law): void {
  law('a job cancelled while it waits is not begun, however often its message comes', async (t) => {
    const { job, enqueued, started, record } = recorder(t);
    await enqueued();
    assert.equal(await t.stores.records.cancel(job.id), 'cancelled');
    const before = await record();
    assert.deepEqual([before.status, before.reason], ['cancelled', 'cancelled']);
    await t.advance(minute);
    for (const attempt of [1, 1, 2]) assert.equal(await started(attempt), true);
    assert.deepEqual(await record(), before);
    await enqueued();
    assert.deepEqual(await record(), before);
  });

  law('a job cancelled between two attempts is not begun again', async (t) => {
    const { job, enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const at = t.now();
    await started(1);
    await settled(reportAt(t, 1, at, 'requeued'), { runAt: t.now() + hour });
    assert.equal(await t.stores.records.cancel(job.id), 'cancelled');
    await t.advance(hour);
    assert.equal(await started(2), true);
    const found = await record();
    assert.deepEqual([found.status, outcomesOf(found)], ['cancelled', ['1 requeued']]);
  });

  law(
    'that a waiting job was cancelled is remembered until its message comes, past its retention and every purge',
    async (t) => {
      const { records } = t.stores;
      const { job, enqueued, started } = recorder(t, { notBefore: t.now() + 40 * day });
      await enqueued();
      await records.cancel(job.id);
      await t.advance(41 * day);
      await records.purge();
      await records.purge({ completedMs: 0, deadMs: 0 });
      assert.equal(await records.get(job.id), null);
      assert.equal(await started(1), true);
    },
    { retention: { completedMs: day } },
  );

  law('a dead letter that was made ready again waits, and can be cancelled', async (t) => {
    const { job, enqueued, started, settled, record, writer } = recorder(t);
    if (!writer.retried) return;
    await enqueued();
    const at = t.now();
    await started(1);
    await settled(reportAt(t, 1, at, 'dead-lettered'), { reason: 'exhausted', error: 'HANDLER: down' });
    await t.advance(hour);
    await writer.retried([job.id, 'unknown']);
    const waiting = await record();
    assert.deepEqual(
      [waiting.status, waiting.finishedAt, waiting.reason, waiting.error, waiting.runAt],
      ['pending', null, null, null, t.now()],
    );
    assert.deepEqual(outcomesOf(waiting), ['1 dead-lettered']);
    assert.equal(await t.stores.records.cancel(job.id), 'cancelled');
    assert.equal(await started(1, t.now(), 'another lease'), true);
  });

  law('a job that has not died is not touched by a retry of dead letters', async (t) => {
    const { job, enqueued, started, settled, record, writer } = recorder(t);
    await enqueued();
    for (const act of [
      () => started(1),
      () => settled(reportAt(t, 1, t.now(), 'requeued'), { runAt: t.now() + minute }),
      () => settled(reportAt(t, 1, t.now(), 'acked')),
    ]) {
      await act();
      const before = await record();
      await t.advance(second);
      await writer.retried?.([job.id]);
      assert.deepEqual(await record(), before);
    }
  });

  law('a running job that is asked to stop hears of it, and ends as it ends', async (t) => {
    const { records } = t.stores;
    const [done, back] = [recorder(t), recorder(t)];
    const at = t.now();
    for (const { enqueued, started, job } of [done, back]) {
      await enqueued();
      await started(1);
      assert.equal(await records.cancel(job.id), 'cancelling');
    }
    const ids = [done.job.id, back.job.id];
    assert.deepEqual((await records.cancelRequested([...ids, 'unknown'])).sort(), ids.sort());
    await done.settled(reportAt(t, 1, at, 'acked'));
    await back.settled(reportAt(t, 1, at, 'requeued'), { runAt: t.now() + minute });
    assert.equal((await done.record()).status, 'completed');
    const { status, reason, finishedAt } = await back.record();
    assert.deepEqual([status, reason, finishedAt], ['cancelled', 'cancelled', t.now()]);
    assert.deepEqual(await records.cancelRequested(ids), []);
    await t.advance(minute);
    assert.equal(await back.started(2), true);
  });

  law(
    'a job that is asked to stop and loses its worker is not begun again',
    async (t) => {
      const { records } = t.stores;
      const { job, enqueued, started, record } = recorder(t);
      await enqueued();
      await started(1);
      await records.cancel(job.id);
      await t.advance(hour);
      assert.equal(await started(2), true);
      const found = await record();
      assert.deepEqual([found.status, found.finishedAt], ['cancelled', t.now()]);
      assert.deepEqual(outcomesOf(found), ['1 interrupted']);
      await t.advance(10 * day);
      await records.purge();
      await records.purge({ completedMs: 0, deadMs: 0 });
      assert.equal(await started(3), true);
    },
    { retention: { completedMs: day } },
  );

  law('an attempt that stops because it was asked to ends as cancelled', async (t) => {
    const { job, enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const at = t.now();
    await started(1);
    await t.stores.records.cancel(job.id);
    await t.advance(second);
    const report = reportAt(t, 1, at, 'rejected');
    await settled(report, { reason: 'cancelled', error: 'CANCELLED: asked to' });
    const { status, error, attempts } = await record();
    assert.deepEqual([status, error, attempts], ['cancelled', 'CANCELLED: asked to', [report]]);
  });

  law('a cancelled job that ran because nobody could tell it is what it became', async (t) => {
    const ran = recorder(t);
    const failed = recorder(t);
    for (const { enqueued, job } of [ran, failed]) {
      await enqueued();
      await t.stores.records.cancel(job.id);
    }
    const at = t.now();
    await t.advance(second);
    await ran.settled(reportAt(t, 1, at + 1, 'acked', { output: '1' }));
    await failed.settled(reportAt(t, 1, at + 1, 'requeued'), { runAt: t.now() + minute });
    const { status, output, reason } = await ran.record();
    assert.deepEqual([status, output, reason], ['completed', 1, null]);
    assert.equal((await failed.record()).status, 'cancelled');
    assert.equal(await failed.started(2), true);
  });

  law('a failed job that was once asked to stop runs normally when its dead letter is retried', async (t) => {
    const { job, enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const at = t.now();
    await started(1);
    await t.stores.records.cancel(job.id);
    await settled(reportAt(t, 1, at, 'dead-lettered'), { reason: 'permanent', error: '' });
    await t.advance(hour);
    assert.equal(await started(1, t.now(), 'again'), false);
    assert.equal((await record()).status, 'processing');
    assert.deepEqual(await t.stores.records.cancelRequested([job.id]), []);
  });
}
