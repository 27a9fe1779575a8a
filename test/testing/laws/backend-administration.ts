import assert from 'node:assert/strict';
import type { QueueStats } from '../../../core/contract/admin.ts';
import { startWaiting } from './backend-waiting.ts';
import { bodiesOf, hour, type Kit, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

async function statsOf(t: Kit, queue: string = mail): Promise<QueueStats> {
  const [stats, ...others] = await t.admin.stats(queue);
  assert.ok(stats);
  assert.deepEqual(others, []);
  return stats;
}

const zero = { queue: mail, ready: 0, delayed: 0, leased: 0, dead: 0, paused: false, oldestReadyMs: null };

export function administrationLaws(law: Law): void {
  law('a paused queue gives out nothing, a resumed one does', async (t) => {
    const { body } = await t.put();
    await t.admin.setPaused(mail, true);
    const meanwhile = await t.put();
    await t.nothingComes();
    await t.admin.setPaused(mail, false);
    assert.deepEqual(bodiesOf(await t.takeAll()), [body, meanwhile.body]);
  });

  law('a probe that the queue takes jobs leaves nothing', async (t) => {
    const { body } = await t.put();
    const before = await t.admin.stats();
    await t.admin.probe?.();
    assert.deepEqual(await t.admin.stats(), before);
    const leases = await t.takeAll();
    assert.deepEqual(bodiesOf(leases), [body]);
    assert.equal(await t.ack(leases[0]!), true);
    await t.nothingEverComes();
  });

  law('pausing one queue leaves the others alone', async (t) => {
    await t.put({ queue: mail });
    const report = await t.put({ queue: reports });
    await t.admin.setPaused(mail, true);
    assert.deepEqual(bodiesOf(await t.takeAll(10, { queues: [mail, reports] })), [report.body]);
  });

  law('running jobs are renewed and settled while their queue is paused', async (t) => {
    for (let i = 0; i < 3; i++) await t.put();
    const [done, failed, broken] = await t.takeAll();
    await t.admin.setPaused(mail, true);
    assert.equal(await t.renew(done!, hour), true);
    assert.equal(await t.ack(done!), true);
    assert.equal(await t.backend.nack(failed!, { delayMs: 0, countAttempt: true }), true);
    assert.equal(await t.backend.abandon(broken!, { reason: 'permanent', error: '' }), true);
    await t.nothingComes();
    await t.admin.setPaused(mail, false);
    assert.deepEqual(
      (await t.takeAll()).map(({ attempt }) => attempt),
      [2],
    );
  });

  law('every opening of the storage sees the pause', async (t) => {
    await t.put();
    await t.admin.setPaused(mail, true);
    for (const opening of t.openings) {
      const request = { queues: [mail], max: 10, leaseMs: minute, waitMs: 0 };
      assert.deepEqual(await opening.fetch(request), []);
    }
  });

  law('a fetch that waits on a paused queue gets its messages when the queue is resumed', async (t) => {
    await t.admin.setPaused(mail, true);
    const { body } = await t.put();
    const resumed = await startWaiting(t);
    await t.admin.setPaused(mail, false);
    assert.deepEqual(bodiesOf(await resumed()), [body]);
  });

  law('pausing and resuming twice is the same as once', async (t) => {
    await t.put();
    await t.admin.setPaused(mail, true);
    await t.admin.setPaused(mail, true);
    assert.equal((await statsOf(t)).paused, true);
    await t.admin.setPaused(mail, false);
    await t.admin.setPaused(mail, false);
    assert.equal((await statsOf(t)).paused, false);
    await t.take();
  });

  law('clear removes what waits, and leaves what runs, what is dead and other queues', async (t) => {
    const dead = await t.put();
    await t.backend.abandon(await t.take(), { reason: 'permanent', error: 'HANDLER: no' });
    await t.put();
    const running = await t.take();
    await t.put();
    await t.put({ notBefore: t.now() + minute });
    const report = await t.put({ queue: reports });
    assert.equal(await t.admin.clear(mail), 2);
    assert.deepEqual(await statsOf(t), { ...zero, leased: 1, dead: 1 });
    await t.advance(minute);
    assert.deepEqual(bodiesOf(await t.takeAll(10, { queues: [mail, reports] })), [report.body]);
    assert.deepEqual(
      (await t.admin.deadLetters.list({ queue: mail })).map(({ id }) => id),
      [dead.id],
    );
    assert.equal(await t.backend.nack(running, { delayMs: 0, countAttempt: true }), true);
    assert.equal((await t.take()).body, running.body);
    assert.equal(await t.admin.clear(mail), 0);
  });

  law('peek shows what would be fetched next, ready before delayed, and takes nothing', async (t) => {
    const later = await t.put({ notBefore: t.now() + hour });
    const soon = await t.put({ notBefore: t.now() + minute, priority: 8 });
    const normal = await t.put({ priority: 5 });
    const high = await t.put({ priority: 2 });
    await t.put({ queue: reports });
    const expected = t.lacks('sight') ? [high, soon] : [high, normal, soon, later];
    const now = t.now();
    for (let i = 0; i < 2; i++) {
      const peeked = await t.admin.peek(mail, 10);
      assert.deepEqual(
        peeked.map(({ id, queue, job, priority, attempt }) => ({ id, queue, job, priority, attempt })),
        expected.map(({ id, queue, job, priority }) => ({ id, queue, job, priority, attempt: 0 })),
      );
      assert.deepEqual(
        peeked.map(({ readyAt }) => (readyAt <= now ? null : readyAt)),
        expected.map(({ notBefore }) => notBefore),
      );
    }
    const firstTwo = await t.admin.peek(mail, 2);
    assert.deepEqual(
      firstTwo.map(({ id }) => id),
      t.lacks('sight') ? [high.id, soon.id] : [high.id, normal.id],
    );
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([high, normal]));
  });

  law('a delayed message that has become due is peeked and counted as ready', async (t) => {
    const due = await t.put({ notBefore: t.now() + minute, priority: 2 });
    await t.advance(minute + second);
    const fresh = await t.put({ priority: 5 });
    assert.deepEqual(
      (await t.admin.peek(mail, 10)).map(({ id }) => id),
      t.lacks('sight') ? [due.id] : [due.id, fresh.id],
    );
    assert.deepEqual(await statsOf(t), { ...zero, ready: 2, oldestReadyMs: second });
  });

  law('peek tells how often a message was attempted', async (t) => {
    await t.put();
    await t.backend.nack(await t.take(), { delayMs: minute, countAttempt: true });
    assert.deepEqual(
      (await t.admin.peek(mail, 10)).map(({ attempt }) => attempt),
      [1],
    );
  });

  law('stats follow a message through its life', async (t) => {
    await t.put({ notBefore: t.now() + minute });
    assert.deepEqual(await statsOf(t), { ...zero, delayed: 1 });
    await t.advance(minute);
    assert.deepEqual(await statsOf(t), { ...zero, ready: 1, oldestReadyMs: 0 });
    const first = await t.take();
    assert.deepEqual(await statsOf(t), { ...zero, leased: 1 });
    await t.backend.nack(first, { delayMs: minute, countAttempt: true });
    assert.deepEqual(await statsOf(t), { ...zero, delayed: 1 });
    await t.advance(minute);
    await t.take({ leaseMs: second });
    await t.advance(second);
    await t.reap();
    assert.deepEqual(await statsOf(t), { ...zero, ready: 1, oldestReadyMs: 0 });
    await t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' });
    assert.deepEqual(await statsOf(t), { ...zero, dead: 1 });
    await t.put();
    await t.ack(await t.take());
    assert.deepEqual(await statsOf(t), { ...zero, dead: 1 });
    await t.admin.setPaused(mail, true);
    assert.deepEqual(await statsOf(t), { ...zero, dead: 1, paused: true });
  });

  law('the oldest ready message gives its age since it became ready', async (t) => {
    await t.put();
    await t.advance(minute);
    await t.put({ priority: 0 });
    await t.advance(minute);
    // Where only the next one shows, its age stands for all.
    assert.equal((await statsOf(t)).oldestReadyMs, t.lacks('sight') ? minute : 2 * minute);
    await t.ack(await t.take());
    assert.equal((await statsOf(t)).oldestReadyMs, 2 * minute);
    await t.ack(await t.take());
    assert.equal((await statsOf(t)).oldestReadyMs, null);
  });

  law('stats without a queue cover every queue that was used', async (t) => {
    await t.put({ queue: mail });
    await t.put({ queue: reports });
    const all = await t.admin.stats();
    assert.deepEqual(all.map(({ queue, ready }) => [queue, ready]).sort(), [
      [mail, 1],
      [reports, 1],
    ]);
  });
}
