import assert from 'node:assert/strict';
import type { JobRecord } from '../../../core/contract/store.ts';
import { mostAttempts } from '../../../core/kit/records/row.ts';
import { hour, type Kit, minute, reportOf, second } from './kit.ts';
import type { Law } from './law.ts';

async function recordOf(t: Kit, id: string): Promise<JobRecord> {
  const record = await t.stores.records.get(id);
  assert.ok(record, 'expected the job to have a record');
  return record;
}

const error = { code: 'HANDLER', message: 'SMTP says 421 “busy”', stack: 'Error: SMTP\n    at send' };

export function recordLaws(law: Law): void {
  law('an unknown job has no record', async (t) => {
    assert.equal(await t.stores.records.get('unknown'), null);
  });

  law('a job that waits is pending', async (t) => {
    const now = t.now();
    const { id, queue, job } = await t.put({ priority: 2 });
    const { createdAt, runAt, maxAttempts: _, ...rest } = await recordOf(t, id);
    assert.ok(createdAt >= now && createdAt <= t.now());
    assert.equal(runAt, createdAt);
    assert.deepEqual(rest, {
      id,
      queue,
      job,
      tenantId: null,
      name: null,
      idempotencyKey: null,
      schedule: null,
      requestId: null,
      traceparent: null,
      status: 'pending',
      priority: 2,
      finishedAt: null,
      attempts: [],
      progress: null,
      output: null,
      reason: null,
      error: null,
    });
  });

  law('a record names the tenant of its message, whatever becomes of it', async (t) => {
    const { id } = await t.put({ tenantId: 'açme' });
    assert.equal((await recordOf(t, id)).tenantId, 'açme');
    assert.equal((await t.stores.records.page({})).records[0]?.tenantId, 'açme');
    await t.ack(await t.take());
    assert.equal((await recordOf(t, id)).tenantId, 'açme');
  });

  law('a delayed job is pending and says when it may run', async (t) => {
    const notBefore = t.now() + hour;
    const { id } = await t.put({ notBefore });
    const { status, runAt } = await recordOf(t, id);
    assert.deepEqual({ status, runAt }, { status: 'pending', runAt: notBefore });
  });

  law('a job that runs is processing', async (t) => {
    const { id } = await t.put();
    await t.take();
    const { status, finishedAt, attempts } = await recordOf(t, id);
    assert.deepEqual(
      { status, finishedAt, attempts },
      { status: 'processing', finishedAt: null, attempts: [] },
    );
  });

  law('a job that waits for another attempt is retrying and says when', async (t) => {
    const { id } = await t.put();
    const lease = await t.take();
    const report = reportOf(lease, t.now(), 'requeued', { error });
    const earliest = t.now() + minute;
    await t.backend.nack(lease, { delayMs: minute, countAttempt: true, report });
    const { status, runAt, finishedAt, attempts } = await recordOf(t, id);
    assert.deepEqual(
      { status, finishedAt, attempts },
      { status: 'retrying', finishedAt: null, attempts: [report] },
    );
    assert.ok(runAt >= earliest && runAt <= t.now() + minute);
  });

  law('a job released from its first attempt is pending again, and the attempt is not listed', async (t) => {
    const { id } = await t.put();
    const lease = await t.take();
    const report = reportOf(lease, t.now(), 'requeued');
    await t.backend.nack(lease, { delayMs: 0, countAttempt: false, report });
    const { status, attempts } = await recordOf(t, id);
    assert.deepEqual({ status, attempts }, { status: 'pending', attempts: [] });
  });

  law('an acked job is completed, with its output', async (t) => {
    for (const output of ['{"pages":[1,2],"mark":"✓ 🚢"}', '"text"', '0', 'false', 'null', null]) {
      const { id } = await t.put();
      const lease = await t.take();
      await t.advance(second);
      const earliest = t.now();
      const report = reportOf(lease, earliest, 'acked', { output });
      await t.backend.ack([{ lease, report }]);
      const record = await recordOf(t, id);
      assert.equal(record.status, 'completed');
      assert.deepEqual(record.output, output === null ? null : JSON.parse(output));
      assert.deepEqual(record.attempts, [report]);
      assert.deepEqual([record.reason, record.error], [null, null]);
      assert.ok(record.finishedAt! >= earliest && record.finishedAt! <= t.now());
    }
  });

  for (const reason of ['permanent', 'exhausted', 'crash-loop', 'rejected'] as const) {
    law(`a job abandoned as ${reason} has failed, with its reason and error`, async (t) => {
      const { id } = await t.put();
      const lease = await t.take();
      const report = reportOf(lease, t.now(), 'dead-lettered', { error });
      await t.backend.abandon(lease, { reason, error: 'HANDLER: SMTP says 421', report });
      const record = await recordOf(t, id);
      assert.deepEqual(
        [record.status, record.reason, record.error, record.output],
        ['failed', reason, 'HANDLER: SMTP says 421', null],
      );
      assert.deepEqual(record.attempts, [report]);
      assert.notEqual(record.finishedAt, null);
    });
  }

  for (const reason of ['cancelled', 'expired'] as const) {
    law(`a job abandoned as ${reason} is ${reason}`, async (t) => {
      const { id } = await t.put();
      await t.backend.abandon(await t.take(), { reason, error: 'CANCELLED: not wanted' });
      const record = await recordOf(t, id);
      assert.deepEqual([record.status, record.reason], [reason, reason]);
      assert.notEqual(record.finishedAt, null);
    });
  }

  law('of more attempts than a record holds the last ones are listed', async (t) => {
    const { id } = await t.put();
    const expected = [];
    for (let attempt = 1; attempt <= mostAttempts + 5; attempt++) {
      await t.advance(second);
      const lease = await t.take();
      const report = reportOf(lease, t.now(), 'requeued', { error });
      await t.backend.nack(lease, { delayMs: 0, countAttempt: true, report });
      expected.push(report);
    }
    assert.deepEqual((await recordOf(t, id)).attempts, expected.slice(-mostAttempts));
    await t.backend.nack(await t.take(), { delayMs: 0, countAttempt: false });
    assert.deepEqual((await recordOf(t, id)).attempts, expected.slice(-mostAttempts));
    await t.advance(second);
    const lease = await t.take();
    const last = reportOf(lease, t.now(), 'acked', { output: '7' });
    await t.backend.ack([{ lease, report: last }]);
    const { attempts, output } = await recordOf(t, id);
    assert.deepEqual([attempts, output], [[...expected, last].slice(-mostAttempts), 7]);
  });

  law('attempts are listed in order, each with its times, outcome and error', async (t) => {
    const { id } = await t.put();
    const expected = [];
    for (const attempt of [1, 2, 3]) {
      await t.advance(second);
      const lease = await t.take();
      const own = { ...error, message: `failure ${attempt}` };
      const report = reportOf(lease, t.now(), 'requeued', { error: own });
      await t.backend.nack(lease, { delayMs: 0, countAttempt: true, report });
      expected.push(report);
    }
    const lease = await t.take();
    const report = reportOf(lease, t.now(), 'acked', { output: '{"ok":true}' });
    await t.backend.ack([{ lease, report }]);
    assert.deepEqual((await recordOf(t, id)).attempts, [...expected, report]);
  });

  law(
    'an attempt whose worker vanished is listed as interrupted',
    async (t) => {
      const { id } = await t.put();
      const claimedFrom = t.now();
      await t.take({ leaseMs: 2 * second });
      const claimedBy = t.now();
      await t.advance(2 * second);
      await t.reap();
      const record = await recordOf(t, id);
      assert.equal(record.status, 'retrying');
      const [attempt, ...others] = record.attempts;
      assert.ok(attempt);
      assert.deepEqual(others, []);
      assert.deepEqual(
        [attempt.attempt, attempt.outcome, attempt.error?.code, attempt.output],
        [1, 'interrupted', 'LEASE_LOST', null],
      );
      assert.ok(attempt.startedAt >= claimedFrom && attempt.startedAt <= claimedBy);
      assert.ok(attempt.endedAt > attempt.startedAt && attempt.endedAt <= t.now());
    },
    { knownByQueue: true },
  );

  law('a stale settlement leaves no trace in the record', async (t) => {
    const { id } = await t.put();
    const stale = await t.take({ leaseMs: 2 * second });
    await t.advance(2 * second);
    await t.reap();
    const owner = await t.take();
    const before = await recordOf(t, id);
    const report = reportOf(stale, t.now(), 'acked', { output: '"stale"' });
    await t.backend.ack([{ lease: stale, report }]);
    await t.backend.nack(stale, { delayMs: 0, countAttempt: true, report });
    await t.backend.abandon(stale, { reason: 'permanent', error: 'stale', report });
    assert.deepEqual(await recordOf(t, id), before);
    assert.equal(await t.ack(owner), true);
  });

  law('progress is shown as last reported by the run that holds the lease', async (t) => {
    const { id } = await t.put();
    const { token } = await t.take();
    const { records } = t.stores;
    const first = { done: 1, total: 10, message: 'página uno', at: t.now() };
    assert.equal(await records.progress(id, token, first), true);
    assert.deepEqual((await recordOf(t, id)).progress, first);
    const second = { done: 2, total: null, message: null, at: t.now() };
    assert.equal(await records.progress(id, token, second), true);
    assert.deepEqual((await recordOf(t, id)).progress, second);
  });

  law(
    'progress of a run that lost or settled its lease changes nothing',
    async (t) => {
      const { id } = await t.put();
      const { records } = t.stores;
      const progress = { done: 1, total: 2, message: null, at: t.now() };
      const stale = await t.take({ leaseMs: 2 * second });
      assert.equal(await records.progress(id, 'no such token', progress), false);
      await t.advance(2 * second);
      assert.equal(await records.progress(id, stale.token, progress), false);
      await t.reap();
      const owner = await t.take();
      assert.equal(await records.progress(id, stale.token, progress), false);
      assert.equal((await recordOf(t, id)).progress, null);
      await t.ack(owner);
      assert.equal(await records.progress(id, owner.token, progress), false);
      assert.equal(await records.progress('unknown', owner.token, progress), false);
      assert.equal((await recordOf(t, id)).progress, null);
    },
    { knownByQueue: true },
  );

  law(
    'a dead letter that is retried is pending again',
    async (t) => {
      const { id } = await t.put();
      await t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' });
      await t.admin.deadLetters.retry([id]);
      const { status, reason, error: text, finishedAt } = await recordOf(t, id);
      assert.deepEqual([status, reason, text, finishedAt], ['pending', null, null, null]);
      await t.ack(await t.take());
      assert.equal((await recordOf(t, id)).status, 'completed');
    },
    { knownByQueue: true },
  );
}
