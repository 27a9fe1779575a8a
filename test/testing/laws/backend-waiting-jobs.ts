import assert from 'node:assert/strict';
import type { PendingJobs, WaitingChange, WaitingJob } from '../../../core/contract/admin.ts';
import { payloadOf } from '../../../core/kit/records/payload.ts';
import { startWaiting } from './backend-waiting.ts';
import { waitingGroupLaws } from './backend-waiting-groups.ts';
import { bodiesOf, hour, type Kit, mail, minute, reportOf, reports, second } from './kit.ts';
import type { Law } from './law.ts';

function waitingOf({ backend }: Pick<Kit, 'backend'>): PendingJobs {
  assert.ok(backend.pending, `backend "${backend.name}" reaches no waiting jobs and declares no lack of it`);
  return backend.pending;
}

const at = ({ id }: { readonly id: string }, queue: string = mail): WaitingJob => ({ queue, id });
const promote = async (t: Kit, ...jobs: readonly { readonly id: string }[]) =>
  waitingOf(t).change(
    jobs.map((job) => at(job)),
    { notBefore: null },
  );
const change = async (t: Kit, job: { readonly id: string }, how: WaitingChange) =>
  (await waitingOf(t).change([at(job)], how))[0];
const later = (t: Kit, ms = hour) => ({ notBefore: t.now() + ms });

/** The text of a message with another payload. */
const edited = ({ body }: { readonly body: string }, payload: unknown): string =>
  JSON.stringify({ ...JSON.parse(body), payload });

/** One job of each kind that does not wait: running, done, dead, lost by its worker, and unknown. */
async function notWaiting(t: Kit) {
  const done = await t.put();
  await t.ack(await t.take());
  const dead = await t.put();
  await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' });
  const lost = await t.put();
  await t.take({ leaseMs: second });
  await t.advance(2 * second);
  const running = await t.put();
  const lease = await t.take();
  return { lease, lost, jobs: [done, dead, lost, running, t.message()] };
}

/** Nothing has happened to them. */
async function isUntouched(t: Kit, { lease, lost }: Awaited<ReturnType<typeof notWaiting>>): Promise<void> {
  assert.equal(await t.ack(lease), true);
  await t.reap();
  const again = await t.take();
  assert.deepEqual([again.body, again.attempt], [lost.body, 2]);
  assert.equal(await t.ack(again), true);
  await t.nothingEverComes();
}

export function waitingJobLaws(law: Law): void {
  waitingGroupLaws(law);
  law('promoted, a delayed job comes at once', async (t) => {
    const [first, second, third] = [await t.put(later(t)), await t.put(later(t)), await t.put(later(t))];
    assert.deepEqual(await promote(t, third, t.message(), first), [true, false, true]);
    const leases = await t.takeAll();
    assert.deepEqual(bodiesOf(leases), bodiesOf([first, third]));
    assert.deepEqual([leases[0]!.attempt, leases[0]!.interrupted], [1, false]);
    for (const lease of leases) assert.equal(await t.ack(lease), true);
    await t.nothingComes();
    await t.advance(hour);
    assert.deepEqual(bodiesOf(await t.takeAll()), [second.body]);
    assert.deepEqual(await waitingOf(t).change([], { notBefore: null }), []);
  });

  law('promoted between two attempts, a job comes at once, with its attempts', async (t) => {
    const { id } = await t.put();
    await t.backend.nack(await t.take(), { delayMs: hour, countAttempt: true });
    await t.nothingComes();
    assert.deepEqual(await promote(t, { id }, { id }), [true, true]);
    const lease = await t.take();
    assert.deepEqual([lease.attempt, lease.interrupted], [2, false]);
    await t.nothingComes();
  });

  law('promoted, a job is still known to have been interrupted', async (t) => {
    const job = await t.put();
    await t.take({ leaseMs: second });
    await t.advance(second);
    await t.reap();
    const lease = await t.take();
    await t.backend.nack(lease, { delayMs: hour, countAttempt: false });
    await promote(t, job);
    const { attempt, interrupted } = await t.take();
    assert.deepEqual([attempt, interrupted], [2, !t.lacks('interruptions')]);
  });

  law(
    'promoted, a job comes before those that are younger than it, and after those that are older',
    async (t) => {
      const older = await t.put();
      await t.advance(second);
      const delayed = await t.put(later(t));
      await t.advance(second);
      const younger = await t.put();
      const high = await t.put({ priority: 2 });
      await t.advance(second);
      assert.deepEqual(await promote(t, delayed), [true]);
      assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([high, older, delayed, younger]));
    },
  );

  law('a job that is ready stays where it is when it is promoted', async (t) => {
    const [first, second] = [await t.put(), await t.put()];
    assert.deepEqual(await promote(t, second), [true]);
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([first, second]));
  });

  law('of what does not wait nothing is promoted, changed, removed or read', async (t) => {
    const others = await notWaiting(t);
    assert.deepEqual(await promote(t, ...others.jobs), [false, false, false, false, false]);
    for (const job of others.jobs) {
      const how = { body: edited(job, 'other'), priority: 0, ...later(t) };
      assert.equal(await change(t, job, how), false);
      assert.equal(await waitingOf(t).remove(at(job)), false);
      assert.equal(await waitingOf(t).read(at(job)), null);
    }
    await isUntouched(t, others);
  });

  law('a job is looked for in the queue that is named, and in no other', async (t) => {
    const job = await t.put(later(t));
    const elsewhere = at(job, reports);
    assert.deepEqual(await waitingOf(t).change([elsewhere], { notBefore: null }), [false]);
    assert.equal(await waitingOf(t).remove(elsewhere), false);
    assert.equal(await waitingOf(t).read(elsewhere), null);
    await t.nothingComes();
    assert.equal(await waitingOf(t).read(at(job)), job.body);
  });

  law('a fetch that waits gets a promoted job, whoever promotes it', async (t) => {
    for (const opening of t.openings) {
      const job = await t.put(later(t));
      const arrival = await startWaiting(t);
      await waitingOf({ backend: opening }).change([at(job)], { notBefore: null });
      assert.deepEqual(bodiesOf(await arrival()), [job.body]);
    }
  });

  law('a fetch that waits gets a job that is made ready by a change', async (t) => {
    const job = await t.put(later(t));
    const arrival = await startWaiting(t);
    await change(t, job, { notBefore: null });
    assert.deepEqual(bodiesOf(await arrival()), [job.body]);
  });

  law('a promoted job of a paused queue waits until that is resumed', async (t) => {
    const job = await t.put(later(t));
    await t.admin.setPaused(mail, true);
    assert.deepEqual(await promote(t, job), [true]);
    await t.nothingComes();
    await t.admin.setPaused(mail, false);
    assert.deepEqual(bodiesOf(await t.takeAll()), [job.body]);
  });

  law('a job that waits runs with the text it was given last', async (t) => {
    const [ready, delayed] = [await t.put(), await t.put(later(t, minute))];
    for (const job of [ready, delayed]) {
      for (const payload of ['x'.repeat(2_000), { text: 'ü 🚢 \u2028 \'"\\' }]) {
        assert.equal(await change(t, job, { body: edited(job, payload) }), true);
        assert.equal(await waitingOf(t).read(at(job)), edited(job, payload));
      }
    }
    const text = (job: typeof ready) => edited(job, { text: 'ü 🚢 \u2028 \'"\\' });
    assert.deepEqual(bodiesOf(await t.takeAll()), [text(ready)]);
    await t.advance(minute);
    const lease = await t.take();
    assert.deepEqual([lease.body, lease.attempt], [text(delayed), 1]);
    assert.equal(await t.ack(lease), true);
  });

  law('a job that is changed keeps its attempts, and can fail again', async (t) => {
    const job = await t.put();
    const report = (lease: Awaited<ReturnType<Kit['take']>>) => reportOf(lease, t.now(), 'requeued');
    const first = await t.take();
    await t.backend.nack(first, { delayMs: minute, countAttempt: true, report: report(first) });
    assert.equal(await change(t, job, { body: edited(job, 2), priority: 0, notBefore: null }), true);
    const again = await t.take();
    assert.deepEqual([again.body, again.attempt], [edited(job, 2), 2]);
    await t.backend.nack(again, { delayMs: minute, countAttempt: true, report: report(again) });
    await t.advance(minute);
    assert.deepEqual([(await t.take()).body], [edited(job, 2)]);
  });

  law('another priority ranks a job as if it had always had it', async (t) => {
    const jobs = [await t.put(), await t.put(), await t.put()];
    await t.advance(second);
    assert.equal(await change(t, jobs[2]!, { priority: 2 }), true);
    assert.equal(await change(t, jobs[0]!, { priority: 8 }), true);
    assert.equal(await change(t, jobs[0]!, { priority: 7 }), true);
    const low = await t.put({ priority: 8 });
    const high = await t.put({ priority: 2 });
    const expected = [jobs[2]!, high, jobs[1]!, jobs[0]!, low];
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf(expected));
  });

  law('a delayed job keeps its time with another priority, and then has that', async (t) => {
    const job = await t.put({ ...later(t, minute), priority: 8 });
    assert.equal(await change(t, job, { priority: 2 }), true);
    await t.nothingComes();
    await t.advance(minute);
    const normal = await t.put();
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([job, normal]));
  });

  law('another time moves a job later or earlier', async (t) => {
    const [ready, delayed] = [await t.put(), await t.put(later(t))];
    assert.equal(await change(t, ready, later(t, minute)), true);
    assert.equal(await change(t, delayed, later(t, 2 * minute)), true);
    await t.nothingComes();
    await t.advance(minute);
    assert.deepEqual(bodiesOf(await t.takeAll()), [ready.body]);
    await t.advance(minute);
    assert.deepEqual(bodiesOf(await t.takeAll()), [delayed.body]);
    await t.nothingComes();
  });

  law('a moment in the past is now, and no advantage to a job that is ready', async (t) => {
    const [first, second] = [await t.put(), await t.put()];
    assert.equal(await change(t, second, { notBefore: t.now() - hour }), true);
    assert.equal(await change(t, second, { notBefore: null }), true);
    const delayed = await t.put(later(t));
    assert.equal(await change(t, delayed, { notBefore: t.now() - hour }), true);
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([first, second, delayed]));
  });

  law('a change of nothing changes nothing', async (t) => {
    const [first, second] = [await t.put(), await t.put(later(t, minute))];
    for (const job of [first, second]) assert.equal(await change(t, job, {}), true);
    assert.deepEqual(bodiesOf(await t.takeAll()), [first.body]);
    await t.advance(minute);
    assert.deepEqual(bodiesOf(await t.takeAll()), [second.body]);
  });

  law('a text that is too large is refused before anything changes', async (t) => {
    const { maxBodyBytes } = t.backend.limits;
    assert.ok(maxBodyBytes < 50_000_000, 'expected a limit that a test can exceed');
    const job = await t.put(later(t));
    const body = edited(job, 'x'.repeat(maxBodyBytes));
    await assert.rejects(change(t, job, { body, priority: 0, notBefore: null }), { code: 'LIMIT' });
    await t.nothingComes();
    assert.equal(await waitingOf(t).read(at(job)), job.body);
  });

  law(
    'while a job is changed and fetched at once, it runs once, with the text that the answer means',
    async (t) => {
      for (let i = 0; i < 10; i++) {
        const job = await t.put();
        const opening = t.openings[i % t.openings.length]!;
        const [leases, [changed]] = await Promise.all([
          t.takeAll(),
          waitingOf({ backend: opening }).change([at(job)], { body: edited(job, 'new') }),
        ]);
        const lease = leases[0] ?? (await t.take());
        assert.equal(lease.body, changed ? edited(job, 'new') : job.body);
        await t.nothingComes();
        assert.equal(await t.ack(lease), true);
      }
    },
  );

  law('a removed job never runs, and its id is free again', async (t) => {
    const [ready, delayed, stays] = [await t.put(), await t.put(later(t)), await t.put(later(t))];
    for (const job of [ready, delayed]) {
      assert.equal(await waitingOf(t).remove(at(job)), true);
      assert.equal(await waitingOf(t).remove(at(job)), false);
    }
    await t.nothingComes();
    await t.advance(hour);
    assert.deepEqual(bodiesOf(await t.takeAll()), [stays.body]);
    const again = await t.put({ id: ready.id });
    assert.deepEqual(bodiesOf(await t.takeAll()), [again.body]);
  });

  law('of those who remove a job at once one has removed it', async (t) => {
    const job = await t.put();
    const everyone = [...t.openings, ...t.openings];
    const answers = await Promise.all(everyone.map((backend) => waitingOf({ backend }).remove(at(job))));
    assert.equal(answers.filter(Boolean).length, 1);
    await t.nothingEverComes();
  });

  law(
    'lists and counts tell of a change',
    async (t) => {
      const [job, gone] = [await t.put(later(t)), await t.put()];
      assert.equal(await change(t, job, { priority: 2, ...later(t, minute) }), true);
      await waitingOf(t).remove(at(gone));
      const [peeked, ...others] = await t.admin.peek(mail, 10);
      assert.deepEqual([peeked?.id, peeked?.priority, peeked?.readyAt], [job.id, 2, t.now() + minute]);
      assert.deepEqual(others, []);
      const counts = async () => {
        const [stats] = await t.admin.stats(mail);
        return [stats?.ready, stats?.delayed, stats?.leased];
      };
      assert.deepEqual(await counts(), [0, 1, 0]);
      await promote(t, job);
      assert.deepEqual(await counts(), [1, 0, 0]);
    },
    { needs: 'administration' },
  );

  law(
    'the record tells of a change, and is gone with the job',
    async (t) => {
      const { records } = t.stores;
      const job = await t.put({ ...later(t), facts: { name: 'old', idempotencyKey: 'order:1' } });
      const facts = { name: 'new', idempotencyKey: 'order:2', schedule: 'nightly' };
      assert.equal(
        await change(t, job, { body: edited(job, { to: 'Ada' }), facts, priority: 2, ...later(t, minute) }),
        true,
      );
      const expected = {
        status: 'pending',
        priority: 2,
        runAt: t.now() + minute,
        createdAt: t.now(),
        ...facts,
      };
      assert.partialDeepStrictEqual(await records.get(job.id), expected);
      assert.deepEqual(payloadOf(await records.body(job.id))?.value, { to: 'Ada' });
      const found = async (idempotencyKey: string) => (await records.page({ idempotencyKey })).records.length;
      assert.deepEqual([await found('order:1'), await found('order:2')], [0, 1]);
      await t.advance(second);
      await promote(t, job);
      assert.partialDeepStrictEqual(await records.get(job.id), {
        runAt: t.now(),
        createdAt: t.now() - second,
      });
      assert.equal(await change(t, job, { body: edited(job, 1) }), true);
      assert.partialDeepStrictEqual(await records.get(job.id), {
        name: null,
        idempotencyKey: null,
        priority: 2,
      });
      await waitingOf(t).remove(at(job));
      assert.equal(await records.get(job.id), null);
      assert.deepEqual((await records.page({})).records, []);
    },
    { knownByQueue: true },
  );

  law(
    'a job that was cancelled waits no more',
    async (t) => {
      const job = await t.put(later(t));
      await t.stores.records.cancel(job.id);
      assert.deepEqual(await promote(t, job), [false]);
      assert.equal(await change(t, job, { notBefore: null }), false);
      assert.equal(await waitingOf(t).remove(at(job)), false);
      await t.advance(hour);
      await t.nothingComes();
      assert.equal((await t.stores.records.get(job.id))?.status, 'cancelled');
    },
    { knownByQueue: true },
  );
}
