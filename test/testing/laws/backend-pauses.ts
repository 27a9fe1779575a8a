/** Laws of jobs that are paused by their name: none begins on any worker, none is lost, and no attempt is spent. */

import assert from 'node:assert/strict';
import { closeBreaker } from '../../../core/features/limits/breaker.ts';
import { pauseJob, resumeJob } from '../../../core/features/limits/pause.ts';
import { stoppedJobs } from '../../../core/features/limits/stopped-jobs.ts';
import { hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { stopping } from './stopping-kit.ts';

const job = 'invoice.send';
/** Workers notice a pause within this time. */
const heardMs = 5 * second;

export function pauseLaws(law: Law): void {
  law(
    'a paused job begins on no worker, and what runs ends',
    async (t) => {
      const s = stopping(t, {});
      const [a, b] = s.workers;
      await s.put();
      const running = await a.begins();
      await s.put();
      await b.ends('ok');
      assert.equal(await pauseJob(a.client, job), true);
      assert.equal(await pauseJob(b.client, job), false);
      await t.advance(heardMs);
      const ids = [await s.put(), await s.put()];
      await a.waits();
      await b.waits();
      await t.nothingComes();
      assert.equal((await running.finish()).outcome, 'acked');
      await s.areUntouched(ids);
      const [stopped, ...others] = await stoppedJobs(b.client);
      assert.deepEqual(others, []);
      assert.deepEqual(stopped, { job, state: 'paused', until: null, failures: 0, waiting: 2 });
    },
    { takesTime: true },
  );

  law('a job that is resumed has all that wait come, in their first attempt', async (t) => {
    const s = stopping(t, {});
    const [a, b] = s.workers;
    await pauseJob(a.client, job);
    for (let n = 0; n < 5; n++) {
      await s.put();
      await (n % 2 ? a : b).waits();
    }
    assert.equal(await resumeJob(b.client, job), true);
    assert.equal(await resumeJob(b.client, job), false);
    await t.advance(t.backend.pending ? heardMs : minute); // where they cannot be woken
    const begun = [...(await a.all()), ...(await b.all())];
    assert.deepEqual(
      begun.map(({ run }) => run.lease.attempt),
      [1, 1, 1, 1, 1],
    );
    for (const { finish } of begun) assert.equal((await finish()).outcome, 'acked');
    await t.nothingEverComes();
  });

  law(
    'a worker that did not hear that a job was resumed asks before it waits',
    async (t) => {
      const s = stopping(t, {});
      const [a, b] = s.workers;
      await pauseJob(a.client, job);
      await s.put();
      await b.waits();
      await resumeJob(a.client, job);
      await s.put();
      const begun = await b.all();
      assert.equal(begun.length, t.backend.pending ? 2 : 1);
      for (const { finish } of begun) await finish();
    },
    { takesTime: true },
  );

  law('a job stays paused when all that ran have ended, and when no store is asked for a day', async (t) => {
    const s = stopping(t, {});
    await pauseJob(s.workers[0].client, job);
    const id = await s.put();
    await s.workers[0].waits();
    if (t.openings.length > 1) await t.backend.close();
    await t.advance(24 * hour);
    const fresh = s.another();
    assert.deepEqual(await fresh.all(), []);
    assert.equal(s.began(), 0);
    await s.areUntouched([id]);
    await resumeJob(fresh.client, job);
    await t.advance(t.backend.pending ? heardMs : minute);
    const begun = await fresh.all();
    assert.equal(begun.length, 1);
    await begun[0]!.finish();
  });

  law(
    'a job that is paused while its breaker is open begins when neither holds it',
    async (t) => {
      const s = stopping(t, { breaker: { failures: 1, openMs: minute } });
      const [a, b] = s.workers;
      await s.put();
      await a.ends('fail');
      const id = await s.put();
      await a.waits();
      await pauseJob(b.client, job);
      await t.advance(heardMs);
      assert.equal(await closeBreaker(a.client, job), true);
      if (!t.backend.pending) await t.advance(minute);
      assert.deepEqual([...(await a.all()), ...(await b.all())], []);
      await s.areUntouched([id]);
      await resumeJob(b.client, job);
      await t.advance(t.backend.pending ? heardMs : 2 * minute);
      const begun = await b.all();
      assert.equal(begun.length, 1);
      await begun[0]!.finish();
    },
    { takesTime: true },
  );
}
