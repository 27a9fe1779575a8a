/** Messages of a group take turns with other groups; ordered ones run one at a time. */

import assert from 'node:assert/strict';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { type MovedJob, movable } from '../../../local/move/contract.ts';
import { playGroups } from './groups-at-random.ts';
import { bodiesOf, hour, idsOf, type Kit, mail, minute, second } from './kit.ts';
import type { Law } from './law.ts';

const wait = { group: 'a', order: 'wait' } as const;
const stepAside = { group: 'a', order: 'step-aside' } as const;

async function putMany(
  t: Kit,
  count: number,
  change: Partial<OutgoingMessage>,
): Promise<readonly OutgoingMessage[]> {
  const messages = Array.from({ length: count }, () => t.message(change));
  assert.ok((await t.backend.enqueue(messages)).every(({ ok }) => ok));
  return messages;
}

/** Takes one after the other and acks it, as long as there are any. */
async function drained(t: Kit): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const [lease] = await t.takeAll(1);
    if (!lease) return bodies;
    bodies.push(lease.body);
    assert.equal(await t.ack(lease), true);
  }
}

const failed = { delayMs: minute, countAttempt: true };
const again = { delayMs: 0, countAttempt: false };

export function groupLaws(law: Law): void {
  fairLaws(law);
  orderedLaws(law);
  leavingLaws(law);
  law(
    'in random sequences with workers that die, no group is stuck and none runs out of order',
    async (t) => {
      for (let seed = 1; seed <= 20; seed++) await playGroups(t, seed);
    },
    { needs: 'rank of a retry' },
  );
}

function fairLaws(law: Law): void {
  law(
    'a group with few messages does not wait for one with many',
    async (t) => {
      const many = await putMany(t, 40, { group: 'many' });
      const few = await putMany(t, 3, { group: 'few' });
      const order = await drained(t);
      assert.ok(
        order.indexOf(few[2]!.body) <= 6,
        `the last one of the small group came ${order.indexOf(few[2]!.body)}.`,
      );
      assert.deepEqual([...order].sort(), bodiesOf([...many, ...few]).sort());
    },
    { needs: 'turns of groups' },
  );

  law(
    'groups take turns within one fetch, too',
    async (t) => {
      const a = await putMany(t, 5, { group: 'a' });
      const b = await putMany(t, 2, { group: 'b' });
      const bodies = bodiesOf(await t.takeAll(6));
      assert.deepEqual(bodies, bodiesOf([a[0]!, b[0]!, a[1]!, b[1]!, a[2]!, a[3]!]));
    },
    { needs: 'unordered groups' },
  );

  law('a message without a group is not held up by a group', async (t) => {
    await putMany(t, 20, { group: 'a' });
    const plain = await t.put();
    assert.ok(bodiesOf(await t.takeAll(2)).includes(plain.body));
  });

  law(
    'a group that is alone fills a fetch, and several of it run at the same time',
    async (t) => {
      const all = await putMany(t, 8, { group: 'a' });
      assert.deepEqual(bodiesOf(await t.takeAll(5)), bodiesOf(all.slice(0, 5)));
      assert.deepEqual(bodiesOf(await t.takeAll(5)), bodiesOf(all.slice(5)));
    },
    { needs: 'unordered groups' },
  );

  law(
    'within a group priority counts as it does without one',
    async (t) => {
      const [low] = await putMany(t, 1, { group: 'a', priority: 8 });
      const [normal] = await putMany(t, 1, { group: 'a', priority: 5 });
      const [high] = await putMany(t, 1, { group: 'a', priority: 2 });
      // The first one stood among the ready ones already.
      assert.deepEqual(await drained(t), bodiesOf([low!, high!, normal!]));
    },
    { needs: 'unordered groups' },
  );

  law('groups of the same name in two queues have nothing to do with one another', async (t) => {
    const letter = await t.put({ ...wait });
    const report = await t.put({ ...wait, queue: 'reports' });
    assert.deepEqual(bodiesOf(await t.takeAll(5, { queues: ['reports'] })), [report.body]);
    assert.deepEqual(bodiesOf(await t.takeAll(5)), [letter.body]);
  });

  law('a delayed message of a group joins its line when it is ready', async (t) => {
    const later = await t.put({ group: 'a', notBefore: t.now() + minute });
    const now = await t.put({ group: 'a' });
    assert.deepEqual(await drained(t), [now.body]);
    await t.advance(minute);
    assert.deepEqual(await drained(t), [later.body]);
  });

  law('what failed returns to its group when its delay is over', async (t) => {
    const [first, second] = await putMany(t, 2, { group: 'a' });
    await t.backend.nack(await t.take(), failed);
    assert.deepEqual(await drained(t), [second!.body]);
    await t.advance(minute);
    const lease = await t.take();
    assert.deepEqual([lease.body, lease.attempt], [first!.body, 2]);
  });
}

function orderedLaws(law: Law): void {
  law('an ordered group runs one at a time, in the order of arrival, whatever the priorities', async (t) => {
    const all = [];
    for (const priority of [5, 8, 2, 5, 0]) all.push(await t.put({ ...wait, priority }));
    for (const message of all) {
      const lease = await t.take();
      assert.equal(lease.body, message.body);
      await t.nothingComes();
      assert.equal(await t.ack(lease), true);
    }
  });

  law('ordered groups run beside one another', async (t) => {
    const [a] = await putMany(t, 3, wait);
    const [b] = await putMany(t, 3, { ...wait, group: 'b' });
    const plain = await t.put();
    assert.deepEqual(bodiesOf(await t.takeAll(10)), bodiesOf([a!, b!, plain]));
  });

  law(
    'the others of an ordered group wait for the retry of a failed one',
    async (t) => {
      const [first, next] = await putMany(t, 2, wait);
      await t.backend.nack(await t.take(), failed);
      await t.nothingComes();
      await t.advance(minute - 1);
      await t.nothingComes();
      await t.advance(1);
      assert.deepEqual(await drained(t), bodiesOf([first!, next!]));
    },
    { needs: 'rank of a retry' },
  );

  law(
    'with step-aside the others go ahead until the retry, and then it is next',
    async (t) => {
      const [first, second, third] = await putMany(t, 3, stepAside);
      await t.backend.nack(await t.take(), failed);
      const ahead = await t.take();
      assert.equal(ahead.body, second!.body);
      await t.advance(minute);
      await t.nothingComes();
      await t.ack(ahead);
      assert.deepEqual(await drained(t), bodiesOf([first!, third!]));
    },
    { needs: 'rank of a retry' },
  );

  law('a released one, and one whose worker died, are next again', async (t) => {
    const all = await putMany(t, 3, wait);
    await t.backend.nack(await t.take(), again);
    const lost = await t.take({ leaseMs: second });
    assert.equal(lost.body, all[0]!.body);
    await t.advance(second);
    await t.reap();
    const lease = await t.take();
    assert.deepEqual([lease.body, lease.attempt, lease.interrupted], [all[0]!.body, 2, true]);
    assert.equal(await t.ack(lost), false);
    assert.equal(await t.backend.nack(lost, again), false);
    await t.nothingComes();
    await t.ack(lease);
    assert.deepEqual(await drained(t), bodiesOf(all.slice(1)));
  });

  law(
    'a lease that has run out holds its group until it is reaped',
    async (t) => {
      const [first] = await putMany(t, 2, wait);
      await t.take({ leaseMs: second });
      await t.advance(2 * second);
      await t.nothingComes();
      await t.reap();
      assert.equal((await t.take()).body, first!.body);
    },
    { needs: 'rank of a retry' },
  );

  law('an ack and fetch in one step gives out the next of the group', async (t) => {
    const { ackAndFetch } = t.backend.hints ?? {};
    if (!ackAndFetch) return;
    const [, next] = await putMany(t, 3, wait);
    const { settled, leases } = await ackAndFetch([{ lease: await t.take() }], {
      queues: [mail],
      max: 5,
      leaseMs: minute,
    });
    assert.deepEqual([settled, bodiesOf(leases)], [[true], [next!.body]]);
  });
}

function leavingLaws(law: Law): void {
  law('the next one comes when the one before died, expired or was cancelled', async (t) => {
    const all = await putMany(t, 4, wait);
    for (const reason of ['exhausted', 'expired', 'cancelled'] as const)
      assert.equal(await t.backend.abandon(await t.take(), { reason, error: 'HANDLER: no' }), true);
    assert.equal((await t.take()).body, all[3]!.body);
  });

  law(
    'a cancelled one leaves the group: at its head, in its line, and while it runs',
    async (t) => {
      const [head, inLine, running, last] = await putMany(t, 4, wait);
      const { records } = t.stores;
      assert.equal(await records.cancel(inLine!.id), 'cancelled');
      assert.equal(await records.cancel(head!.id), 'cancelled');
      const lease = await t.take();
      assert.equal(lease.body, running!.body);
      assert.equal(await records.cancel(running!.id), 'cancelling');
      await t.backend.nack(lease, again);
      assert.deepEqual(await drained(t), [last!.body]);
    },
    { needs: 'administration' },
  );

  law(
    'clearing a queue takes the lines with it, and leaves no group behind',
    async (t) => {
      await putMany(t, 4, wait);
      await putMany(t, 4, { group: 'b' });
      const running = await t.take();
      assert.equal(await t.admin.clear(mail), 7);
      const fresh = await t.put({ ...wait });
      await t.nothingComes();
      await t.ack(running);
      assert.deepEqual(await drained(t), [fresh.body]);
    },
    { needs: 'administration' },
  );

  law(
    'a paused queue gives out no group; afterwards it goes on in order',
    async (t) => {
      const all = await putMany(t, 3, wait);
      const running = await t.take();
      await t.admin.setPaused(mail, true);
      await t.ack(running);
      await t.nothingComes();
      await t.admin.setPaused(mail, false);
      assert.deepEqual(await drained(t), bodiesOf(all.slice(1)));
    },
    { needs: 'administration' },
  );

  law('a retried dead letter goes to the end of the line of its group', async (t) => {
    const all = await putMany(t, 3, wait);
    await t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' });
    await t.advance(second);
    assert.equal(await t.admin.deadLetters.retry([all[0]!.id]), 1);
    const lease = await t.take();
    assert.equal(lease.body, all[1]!.body);
    await t.nothingComes();
    await t.ack(lease);
    assert.deepEqual(await drained(t), bodiesOf([all[2]!, all[0]!]));
  });

  law(
    'what waits in a line is counted, shown and listed',
    async (t) => {
      await putMany(t, 3, wait);
      await putMany(t, 2, { group: 'b' });
      await t.put({ group: 'b', notBefore: t.now() + hour });
      await t.advance(second);
      const [stats] = await t.admin.stats(mail);
      assert.deepEqual([stats!.ready, stats!.delayed, stats!.leased], [5, 1, 0]);
      assert.equal(stats!.oldestReadyMs, second);
      assert.equal((await t.admin.peek(mail, 10)).length, 6);
      await t.backend.nack(await t.take(), again);
      const lease = await t.take({ leaseMs: second });
      await t.advance(second);
      await t.reap();
      const pending = (await t.stores.records.page({ status: 'pending', queue: mail })).records;
      const retrying = (await t.stores.records.page({ status: 'retrying', queue: mail })).records;
      assert.deepEqual([pending.length, retrying.length], [5, 1]);
      assert.equal(bodiesOf([lease]).length, 1);
      assert.equal((await t.stores.records.page({ queue: mail })).records.length, 6);
      const [after] = await t.admin.stats(mail);
      assert.deepEqual([after!.ready, after!.delayed, after!.leased], [5, 1, 0]);
    },
    { needs: 'administration' },
  );

  law(
    'a group moves to another queue with its order, and what is released keeps it',
    async (t) => {
      const { transfer } = movable(t.backend);
      assert.ok(transfer);
      const all = await putMany(t, 4, wait);
      const held: MovedJob[] = [];
      for (let some = await transfer.hold(mail, 3); some.length > 0; some = await transfer.hold(mail, 3))
        held.push(...some);
      assert.deepEqual(
        held.map(({ message: { id, group, order } }) => ({ id, group, order })),
        all.map(({ id }) => ({ id, ...wait })),
      );
      await t.nothingComes();
      assert.equal(await transfer.release(mail, idsOf(all)), 4);
      const [gone] = await transfer.hold(mail, 1);
      assert.deepEqual(await transfer.remove(mail, [gone!.message.id]), [true]);
      const put = { ...gone!, message: { ...gone!.message, id: `${gone!.message.id}-moved` } };
      assert.deepEqual(
        (await transfer.put([put])).map(({ ok }) => ok),
        [true],
      );
      await transfer.release(mail, [put.message.id]);
      assert.deepEqual((await drained(t)).length, 4);
    },
    { needs: 'transfer' },
  );

  law(
    'one that waits in a line can be changed, promoted and removed',
    async (t) => {
      const waiting = t.backend.pending!;
      const [first, second_, third, fourth] = await putMany(t, 4, wait);
      const at = ({ id }: OutgoingMessage) => ({ queue: mail, id });
      assert.equal(await waiting.read(at(second_!)), second_!.body);
      const { body } = t.message({ id: second_!.id });
      assert.deepEqual(await waiting.change([at(second_!)], { body, priority: 0 }), [true]);
      assert.equal(await waiting.remove(at(third!)), true);
      assert.deepEqual(await waiting.change([at(fourth!)], { notBefore: null }), [true]);
      const head = await t.take();
      assert.equal(head.body, first!.body);
      assert.deepEqual(await waiting.change([at(first!), at(second_!)], { notBefore: null }), [false, true]);
      await t.nothingComes();
      assert.equal(await t.ack(head), true);
      assert.deepEqual(await drained(t), [body, fourth!.body]);
      await t.nothingEverComes();
    },
    { needs: 'waiting jobs' },
  );

  law(
    'the head can be removed, or sent to a later time, and the next one comes forward',
    async (t) => {
      const waiting = t.backend.pending!;
      const [first, second_, third] = await putMany(t, 3, wait);
      assert.equal(await waiting.remove({ queue: mail, id: first!.id }), true);
      const later = { notBefore: t.now() + minute };
      assert.deepEqual(await waiting.change([{ queue: mail, id: third!.id }], later), [true]);
      assert.deepEqual(await drained(t), [second_!.body]);
      await t.advance(minute + second);
      assert.deepEqual(await drained(t), [third!.body]);
    },
    { needs: 'waiting jobs' },
  );
}
