/** Records of a queue that keeps none: what they say, in whatever order they are written. */

import assert from 'node:assert/strict';
import { mostAttempts } from '../../../core/kit/records/row.ts';
import { hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { about, outcomesOf, recorder, reportAt } from './store-writing-kit.ts';

export function writingLaws(law: Law): void {
  law('a job goes from pending over processing and retrying to completed, with all attempts', async (t) => {
    const { enqueued, started, settled, record } = recorder(t, { tenantId: 'açme', priority: 2 });
    await enqueued();
    const { status, tenantId, priority } = await record();
    assert.deepEqual([status, tenantId, priority], ['pending', 'açme', 2]);

    const firstAt = t.now();
    assert.equal(await started(1), false);
    assert.equal((await record()).status, 'processing');
    await t.advance(second);
    const error = { code: 'HANDLER', message: 'SMTP says 421 “busy”', stack: 'Error: SMTP\n    at send' };
    const first = reportAt(t, 1, firstAt, 'requeued', { error });
    const runAt = t.now() + minute;
    await settled(first, { runAt });
    const waiting = await record();
    assert.deepEqual([waiting.status, waiting.runAt, waiting.finishedAt], ['retrying', runAt, null]);

    await t.advance(minute);
    const lastAt = t.now();
    await started(2);
    assert.equal((await record()).status, 'processing');
    await t.advance(second);
    const last = reportAt(t, 2, lastAt, 'acked', { output: '{"pages":3}' });
    await settled(last);
    const done = await record();
    assert.deepEqual([done.status, done.finishedAt, done.output], ['completed', t.now(), { pages: 3 }]);
    assert.deepEqual(done.attempts, [first, last]);
    assert.deepEqual([done.tenantId, done.reason, done.error], ['açme', null, null]);
  });

  law(
    'of more attempts than a record holds the last ones stay, also when an early one is reported late',
    async (t) => {
      const { enqueued, started, settled, record } = recorder(t);
      await enqueued();
      const reports = [];
      for (let attempt = 1; attempt <= mostAttempts + 3; attempt++) {
        const at = t.now();
        await started(attempt);
        await t.advance(second);
        const report = reportAt(t, attempt, at, 'requeued');
        // The owner of the second one is slow.
        if (attempt !== 2) await settled(report, { runAt: t.now() });
        reports.push(report);
      }
      await settled(reports[1]!, { runAt: t.now() });
      assert.deepEqual((await record()).attempts, reports.slice(-mostAttempts));
    },
  );

  law('many jobs are reported at once', async (t) => {
    const jobs = Array.from({ length: 600 }, () => recorder(t).job);
    const { writer, record } = about(t, jobs[599]!, 0);
    await writer.enqueued(jobs);
    assert.equal((await record()).status, 'pending');
    const listed = (await t.stores.records.page({ max: 1_000 })).records;
    assert.deepEqual(listed.map(({ id }) => id).sort(), jobs.map(({ id }) => id).sort());
  });

  law('a job that is reported as new once more stays as it is', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    const at = t.now();
    const steps = [
      enqueued,
      () => started(1),
      () => settled(reportAt(t, 1, at, 'requeued'), { runAt: at }),
      () => started(2),
      () => settled(reportAt(t, 2, at, 'acked', { output: '1' })),
    ];
    for (const step of steps) {
      await step();
      const before = await record();
      await enqueued();
      assert.deepEqual(await record(), before);
      await t.advance(second);
    }
  });

  law('a sender that reports late, after the start or the end, changes nothing', async (t) => {
    const { job, enqueued, started, settled, record } = recorder(t, { tenantId: 'acme' });
    await started(1);
    const running = await record();
    const { status, tenantId, queue, createdAt } = running;
    assert.deepEqual([status, tenantId, queue, createdAt], ['processing', 'acme', job.queue, job.createdAt]);
    await enqueued();
    assert.deepEqual(await record(), running);
    await settled(reportAt(t, 1, t.now(), 'acked'));
    await enqueued();
    assert.equal((await record()).status, 'completed');
  });

  law('a start that is reported twice is one attempt', async (t) => {
    const { started, record } = recorder(t);
    await started(1);
    const before = await record();
    assert.equal(await started(1), false);
    assert.deepEqual(await record(), before);
  });

  law('an attempt that never reported is listed as interrupted when the next one begins', async (t) => {
    const { enqueued, started, record } = recorder(t);
    await enqueued();
    const startedAt = t.now();
    await started(1);
    await t.advance(hour);
    await started(2);
    const { status, attempts } = await record();
    assert.equal(status, 'processing');
    const [lost, ...others] = attempts;
    assert.deepEqual(others, []);
    assert.deepEqual([lost?.attempt, lost?.outcome, lost?.error?.code], [1, 'interrupted', 'LEASE_LOST']);
    assert.deepEqual([lost?.startedAt, lost?.endedAt], [startedAt, t.now()]);
  });

  law('an attempt learns when the one before it never reported, and only then', async (t) => {
    const { writer, job, settled } = recorder(t);
    const begin = (attempt: number, owner = `lease ${attempt}`) =>
      writer.started(job, { owner, attempt, at: t.now() });
    assert.deepEqual(await begin(1), { cancelled: false, interrupted: false });
    assert.deepEqual(await begin(1), { cancelled: false, interrupted: false }); // reported twice
    await t.advance(hour);
    const secondAt = t.now();
    assert.deepEqual(await begin(2), { cancelled: false, interrupted: true });
    await settled(reportAt(t, 2, secondAt, 'requeued'), { counted: false, runAt: t.now() });
    await t.advance(minute);
    const thirdAt = t.now();
    assert.deepEqual(await begin(2, 'again'), { cancelled: false, interrupted: true }); // it did not count
    await settled(reportAt(t, 2, thirdAt, 'requeued'), { owner: 'again', runAt: t.now() });
    await t.advance(minute);
    assert.deepEqual(await begin(3), { cancelled: false, interrupted: false });
  });

  law('a start of an older attempt changes nothing, whatever became of the newer one', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const staleAt = t.now();
    await t.advance(minute);
    const at = t.now();
    await started(2);
    for (const end of [() => Promise.resolve(), () => settled(reportAt(t, 2, at, 'acked'))]) {
      await end();
      const before = await record();
      assert.equal(await started(1, staleAt), false);
      assert.deepEqual(await record(), before);
    }
  });

  law('a late report of an older attempt fills in its own line and changes nothing else', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const firstAt = t.now();
    await started(1);
    await t.advance(minute);
    const secondAt = t.now();
    await started(2);
    const late = reportAt(t, 1, firstAt, 'acked', { output: '"stale"' });
    const before = await record();
    await settled(late);
    assert.deepEqual(await record(), { ...before, attempts: [late] });
    await settled(late);
    assert.deepEqual(await record(), { ...before, attempts: [late] });

    await t.advance(second);
    const last = reportAt(t, 2, secondAt, 'dead-lettered');
    await settled(last, { reason: 'permanent', error: 'HANDLER: no' });
    const { status, output, attempts } = await record();
    assert.deepEqual([status, output, attempts], ['failed', null, [late, last]]);
  });

  law('a late report never moves a job that has ended, nor one that waits again', async (t) => {
    for (const runAt of [null, t.now() + hour]) {
      const { enqueued, started, settled, record } = recorder(t);
      await enqueued();
      const firstAt = t.now();
      await started(1);
      await t.advance(minute);
      const secondAt = t.now();
      await started(2);
      await t.advance(second);
      await settled(
        reportAt(t, 2, secondAt, runAt === null ? 'acked' : 'requeued'),
        runAt === null ? {} : { runAt },
      );
      const before = await record();
      for (const end of [{ runAt: t.now() }, { reason: 'permanent', error: 'late' }, {}] as const) {
        await settled(reportAt(t, 1, firstAt, 'requeued'), end);
        const { attempts, ...rest } = await record();
        const { attempts: _, ...same } = before;
        assert.deepEqual(rest, same);
        assert.deepEqual([attempts.length, attempts[0]?.attempt], [2, 1]);
      }
    }
  });

  law('a stale owner of the same attempt changes nothing', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const firstAt = t.now();
    await started(1, firstAt, 'anna');
    await t.advance(minute);
    await started(1, t.now(), 'ben');
    await settled(reportAt(t, 1, firstAt, 'acked', { output: '1' }), { owner: 'anna' });
    assert.equal((await record()).status, 'processing');
    const progress = { done: 1, total: 2, message: null, at: t.now() };
    const { records } = t.stores;
    const { id } = await record();
    assert.equal(await records.progress(id, 'anna', progress), false);
    assert.equal(await records.progress(id, 'ben', progress), true);
    assert.deepEqual((await record()).progress, progress);
  });

  law('progress is taken from the run that goes on, and from nobody else', async (t) => {
    const { job, enqueued, started, settled } = recorder(t);
    const { records } = t.stores;
    const progress = { done: 1, total: 2, message: null, at: t.now() };
    const by = (owner: string) => records.progress(job.id, owner, progress);
    assert.equal(await by('lease 1'), false);
    await enqueued();
    assert.equal(await by('lease 1'), false);
    const at = t.now();
    await started(1);
    assert.equal(await by('lease 2'), false);
    assert.equal(await by('lease 1'), true);
    await settled(reportAt(t, 1, at, 'acked'));
    assert.equal(await by('lease 1'), false);
  });

  law('an end that is reported twice is one end, and a second one of the same owner is none', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const at = t.now();
    await started(1);
    const report = reportAt(t, 1, at, 'acked', { output: '1' });
    await settled(report);
    const before = await record();
    await settled(report);
    await settled(reportAt(t, 1, at, 'dead-lettered'), { reason: 'permanent', error: 'HANDLER: no' });
    await settled(reportAt(t, 1, at, 'requeued'), { runAt: at });
    assert.deepEqual(await record(), before);
  });

  law('an end whose start was never reported counts, also of a job that was never reported', async (t) => {
    for (const known of [true, false]) {
      const { enqueued, settled, record } = recorder(t, { tenantId: 'acme' });
      if (known) await enqueued();
      const report = reportAt(t, 1, t.now(), 'acked', { output: '"done"' });
      await settled(report);
      const { status, output, tenantId, attempts } = await record();
      assert.deepEqual([status, output, tenantId, attempts], ['completed', 'done', 'acme', [report]]);
    }
  });

  law('an end whose start was never reported lists the attempt before it as interrupted', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    await started(1);
    await t.advance(minute);
    const report = reportAt(t, 2, t.now(), 'rejected');
    await settled(report, { reason: 'crash-loop', error: 'CRASH_LOOP: all 1' });
    const found = await record();
    assert.deepEqual([found.status, found.reason], ['failed', 'crash-loop']);
    assert.deepEqual(outcomesOf(found), ['1 interrupted', '2 rejected']);
  });

  law('hosts whose clocks disagree still write the newer attempt over the older', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const behindMs = 30 * second;
    const at = t.now();
    await started(1);
    await t.advance(second);
    await settled(reportAt(t, 1, at, 'requeued'), { runAt: t.now() });
    const behind = t.now() - behindMs;
    await started(2, behind);
    assert.equal((await record()).status, 'processing');
    await settled({ ...reportAt(t, 2, behind, 'acked'), endedAt: behind + second });
    assert.equal((await record()).status, 'completed');
  });

  law('an attempt that was released is not listed, and may begin again', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    const at = t.now();
    for (const owner of ['anna', 'ben']) {
      await started(1, at, owner);
      await settled(reportAt(t, 1, at, 'requeued'), { owner, counted: false, runAt: at });
      const { status, attempts } = await record();
      assert.deepEqual([status, attempts], ['pending', []]);
    }
    await started(1, at, 'carl');
    await settled(reportAt(t, 1, at, 'acked'), { owner: 'carl' });
    const found = await record();
    assert.deepEqual([found.status, outcomesOf(found)], ['completed', ['1 acked']]);
  });

  law('a dead letter that is retried begins anew, and keeps what it went through', async (t) => {
    const { enqueued, started, settled, record } = recorder(t);
    await enqueued();
    for (const attempt of [1, 2]) {
      const at = t.now();
      await started(attempt);
      await t.advance(second);
      const last = attempt === 2;
      const end = last ? ({ reason: 'exhausted', error: 'HANDLER: no' } as const) : { runAt: t.now() };
      await settled(reportAt(t, attempt, at, last ? 'dead-lettered' : 'requeued'), end);
    }
    await t.advance(hour);
    const at = t.now();
    await started(1, at, 'again');
    const running = await record();
    assert.deepEqual(
      [running.status, running.reason, running.error, running.finishedAt],
      ['processing', null, null, null],
    );
    await settled(reportAt(t, 1, at, 'acked'), { owner: 'again' });
    const found = await record();
    assert.deepEqual(outcomesOf(found), ['1 requeued', '2 dead-lettered', '1 acked']);
    assert.equal(found.status, 'completed');
  });

  law('of writes that race over all openings none is lost', async (t) => {
    const { job, enqueued } = recorder(t);
    await enqueued();
    const at = t.now();
    await t.advance(minute);
    const attempts = Array.from({ length: 12 }, (_, i) => i + 1);
    await Promise.all(
      attempts.map(async (attempt) => {
        const { started, settled } = about(t, job, attempt);
        const startedAt = at + attempt * second;
        await started(attempt, startedAt);
        const done = attempt === attempts.length;
        const report = reportAt(t, attempt, startedAt, done ? 'acked' : 'requeued');
        await settled(report, done ? {} : { runAt: t.now() });
      }),
    );
    const found = await about(t, job, 0).record();
    assert.equal(found.status, 'completed');
    const expected = attempts.map((attempt) => `${attempt} ${attempt === 12 ? 'acked' : 'requeued'}`);
    assert.deepEqual(outcomesOf(found), expected);
  });
}
