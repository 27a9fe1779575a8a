/** Rank = the moment a message became ready + one hour per priority level; the lowest rank goes first. */

import assert from 'node:assert/strict';
import { bodiesOf, hour, mail, minute, reports, second } from './kit.ts';
import type { Law } from './law.ts';

export function orderLaws(law: Law): void {
  law('a lower priority number goes first', async (t) => {
    const low = await t.put({ priority: 8 });
    const normal = await t.put({ priority: 5 });
    const critical = await t.put({ priority: 0 });
    const high = await t.put({ priority: 2 });
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([critical, high, normal, low]));
  });

  law('within a priority the order is that of arrival, whatever the ids', async (t) => {
    const named = (letter: string) => ({ id: `${letter}-${t.message().id}` });
    const batch = ['m', 'z', 'a', 'y', 'b'].map((letter) => t.message(named(letter)));
    await t.backend.enqueue(batch);
    const later = await t.put(named('c'));
    await t.advance(second);
    const last = await t.put(named('0'));
    const taken = [];
    for (let i = 0; i < 7; i++) taken.push(await t.take());
    assert.deepEqual(bodiesOf(taken), bodiesOf([...batch, later, last]));
  });

  law('an old message of low priority goes before a newer one of high priority', async (t) => {
    const low = await t.put({ priority: 8 });
    await t.advance(6 * hour + minute);
    const high = await t.put({ priority: 2 });
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([low, high]));
  });

  law('until it is an hour older per level, the high priority goes first', async (t) => {
    const low = await t.put({ priority: 8 });
    await t.advance(6 * hour - minute);
    const high = await t.put({ priority: 2 });
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([high, low]));
  });

  law(
    'a delayed message takes its place by the moment it became ready',
    async (t) => {
      const delayed = await t.put({ notBefore: t.now() + minute });
      await t.advance(30 * second);
      const before = await t.put();
      await t.advance(minute);
      const after = await t.put();
      assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([before, delayed, after]));
    },
    { needs: 'delays' },
  );

  law('a moment in the past gives no advantage', async (t) => {
    const first = await t.put();
    const backdated = await t.put({ notBefore: t.now() - hour });
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([first, backdated]));
  });

  law('a nacked message takes its place by the moment it became ready again', async (t) => {
    const failed = await t.put();
    const lease = await t.take();
    await t.advance(second);
    const before = await t.put();
    await t.backend.nack(lease, { delayMs: second, countAttempt: true });
    await t.advance(2 * second);
    const after = await t.put();
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([before, failed, after]));
  });

  law('a message keeps its priority when it is nacked and when it is reaped', async (t) => {
    const low = await t.put({ priority: 8 });
    const high = await t.put({ priority: 2 });
    const nacked = await t.takeAll();
    for (const lease of nacked) await t.backend.nack(lease, { delayMs: 0, countAttempt: true });
    assert.deepEqual(bodiesOf(await t.takeAll(10, { leaseMs: second })), bodiesOf([high, low]));
    await t.advance(second);
    await t.reap();
    const normal = await t.put({ priority: 5 });
    assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([high, normal, low]));
  });

  law(
    'a retried dead letter takes its place by its priority and the moment of the retry',
    async (t) => {
      const dead = await t.put({ priority: 5 });
      await t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' });
      await t.advance(minute);
      const before = await t.put({ priority: 5 });
      await t.advance(minute);
      await t.admin.deadLetters.retry([dead.id]);
      await t.advance(minute);
      const after = await t.put({ priority: 5 });
      const high = await t.put({ priority: 2 });
      const retried = t.lacks('place of the retried') ? [dead, before] : [before, dead];
      assert.deepEqual(bodiesOf(await t.takeAll()), bodiesOf([high, ...retried, after]));
    },
    { needs: 'dead letters' },
  );

  law('a fetch from several queues goes by rank, not by queue', async (t) => {
    const normalLetter = await t.put({ queue: mail, priority: 5 });
    const normalReport = await t.put({ queue: reports, priority: 5 });
    const highReport = await t.put({ queue: reports, priority: 2 });
    const lowLetter = await t.put({ queue: mail, priority: 8 });
    const criticalLetter = await t.put({ queue: mail, priority: 0 });
    for (const queues of [
      [mail, reports],
      [reports, mail],
    ]) {
      const leases = [...(await t.takeAll(2, { queues })), ...(await t.takeAll(100, { queues }))];
      const expected = [criticalLetter, highReport, normalLetter, normalReport, lowLetter];
      assert.deepEqual(bodiesOf(leases), bodiesOf(expected));
      for (const lease of leases) await t.backend.nack(lease, { delayMs: 0, countAttempt: false });
    }
  });

  law('max cuts the order, it does not change it', async (t) => {
    const normal = await t.put({ priority: 5 });
    const low = await t.put({ priority: 8 });
    const high = await t.put({ priority: 2 });
    assert.deepEqual(bodiesOf(await t.takeAll(2)), bodiesOf([high, normal]));
    assert.deepEqual(bodiesOf(await t.takeAll(2)), bodiesOf([low]));
  });
}

export function duplicateLaws(law: Law): void {
  law('the same id twice is stored once, and the second is called a duplicate', async (t) => {
    const first = await t.put();
    const copy = t.message({ id: first.id, body: '{"other":"body"}' });
    assert.deepEqual(await t.backend.enqueue([copy]), [{ ok: true, id: first.id, duplicate: true }]);
    assert.deepEqual(bodiesOf(await t.takeAll()), [first.body]);
  });

  law('the same id twice in one batch is stored once', async (t) => {
    const [message, other] = [t.message(), t.message()];
    const results = await t.backend.enqueue([message, other, message]);
    assert.deepEqual(
      results.map((result) => result.ok && result.duplicate),
      [false, false, true],
    );
    assert.deepEqual(bodiesOf(await t.takeAll()).sort(), bodiesOf([message, other]).sort());
  });

  law(
    'a copy of a message that is delayed or running is a duplicate too',
    async (t) => {
      const delayed = await t.put({ notBefore: t.now() + hour });
      const running = await t.put();
      const lease = await t.take();
      for (const { id } of [delayed, running]) {
        const copy = t.message({ id });
        assert.deepEqual(await t.backend.enqueue([copy]), [{ ok: true, id, duplicate: true }]);
      }
      await t.nothingComes();
      assert.equal(await t.ack(lease), true);
    },
    { needs: 'delays' },
  );
}
