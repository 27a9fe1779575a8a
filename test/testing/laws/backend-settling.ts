import assert from 'node:assert/strict';
import type { JobLease } from '../../../core/contract/queue.ts';
import { bodiesOf, hour, type Kit, minute, second } from './kit.ts';
import type { Law } from './law.ts';

/** The four ways to use a lease, each so that its effect would show. */
export const verbs: Readonly<Record<string, (t: Kit, lease: JobLease) => Promise<boolean>>> = {
  ack: (t, lease) => t.ack(lease),
  nack: (t, lease) => t.backend.nack(lease, { delayMs: hour, countAttempt: true }),
  abandon: (t, lease) => t.backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: too late' }),
  renew: (t, lease) => t.renew(lease, 10 * hour),
};

export function settlingLaws(law: Law): void {
  law('an acked message never returns', async (t) => {
    await t.put();
    assert.equal(await t.ack(await t.take()), true);
    await t.nothingEverComes();
  });

  law('acks are answered one by one, in their order', async (t) => {
    for (let i = 0; i < 3; i++) await t.put();
    const [first, second, third] = (await t.takeMany(3)) as [JobLease, JobLease, JobLease];
    assert.equal(await t.ack(second), true);
    const answers = await t.backend.ack([{ lease: first }, { lease: second }, { lease: third }]);
    assert.deepEqual(answers, [true, false, true]);
    await t.nothingEverComes();
  });

  law(
    'ackAndFetch, where there is one, answers each ack and takes what comes next, at most max',
    async (t) => {
      const { ackAndFetch } = t.backend.hints ?? {};
      if (!ackAndFetch) return;
      for (let i = 0; i < 6; i++) await t.put();
      const [first, second, third] = (await t.takeMany(3)) as [JobLease, JobLease, JobLease];
      assert.equal(await t.ack(second), true);
      const acks = [{ lease: first }, { lease: second }];
      const both = await ackAndFetch(acks, { queues: [first.queue], max: 2, leaseMs: hour });
      assert.deepEqual(both.settled, [true, false]);
      assert.equal(both.leases.length, 2);
      for (const lease of [third, ...both.leases, await t.take()]) assert.equal(await t.ack(lease), true);
      await t.nothingEverComes();
    },
  );

  law('a nacked message returns after its delay, not before, as the next attempt', async (t) => {
    const { body } = await t.put();
    assert.equal(await t.backend.nack(await t.take(), { delayMs: 3 * second, countAttempt: true }), true);
    await t.nothingComes();
    await t.advance(2 * second);
    await t.nothingComes();
    await t.advance(second);
    const again = await t.take();
    assert.deepEqual([again.body, again.attempt, again.interrupted], [body, 2, false]);
  });

  law('a message nacked without delay returns at once, and its attempts count on', async (t) => {
    await t.put();
    for (let attempt = 1; attempt <= 5; attempt++) {
      const lease = await t.take();
      assert.equal(lease.attempt, attempt);
      assert.equal(await t.backend.nack(lease, { delayMs: 0, countAttempt: true }), true);
    }
  });

  law('a message released uncounted returns with the same attempt number', async (t) => {
    await t.put();
    for (let round = 0; round < 3; round++) {
      const lease = await t.take();
      assert.equal(lease.attempt, 1);
      assert.equal(await t.backend.nack(lease, { delayMs: second, countAttempt: false }), true);
      await t.nothingComes();
      await t.advance(second);
    }
  });

  law('an abandoned message never returns', async (t) => {
    await t.put();
    const why = { reason: 'permanent', error: 'HANDLER: no such invoice' } as const;
    assert.equal(await t.backend.abandon(await t.take(), why), true);
    await t.nothingEverComes();
  });

  law('an expired lease returns after reaping, as the next attempt and marked as interrupted', async (t) => {
    const { body } = await t.put();
    await t.take({ leaseMs: 2 * second });
    await t.advance(2 * second);
    await t.reap();
    const again = await t.take();
    assert.deepEqual([again.body, again.attempt, again.interrupted], [body, 2, !t.lacks('interruptions')]);
  });

  law('what was taken with a lease that is named twice in one call still returns', async (t) => {
    await t.put();
    await t.put();
    const [first, second_] = (await t.takeMany(2, { leaseMs: 2 * second })) as [JobLease, JobLease];
    assert.ok((await t.backend.ack([{ lease: first }, { lease: first }])).includes(true));
    await t.advance(2 * second);
    await t.reap();
    const again = await t.takeAll();
    assert.deepEqual(bodiesOf(again), [second_.body]);
    assert.equal(again[0]!.attempt, 2);
  });

  law('reaping leaves a lease alone that has not expired', async (t) => {
    await t.put();
    const lease = await t.take({ leaseMs: minute });
    await t.advance(second);
    await t.reap();
    await t.nothingComes();
    assert.equal(await t.ack(lease), true);
  });

  law('an interruption is reported to the attempt after it, and to that one only', async (t) => {
    await t.put();
    await t.take({ leaseMs: second });
    await t.advance(second);
    await t.reap();
    const afterCrash = await t.take();
    assert.equal(afterCrash.interrupted, !t.lacks('interruptions'));
    await t.backend.nack(afterCrash, { delayMs: 0, countAttempt: true });
    assert.equal((await t.take()).interrupted, false);
  });

  law('an attempt released uncounted leaves the interruption before it to be reported', async (t) => {
    await t.put();
    await t.take({ leaseMs: second });
    await t.advance(second);
    await t.reap();
    await t.backend.nack(await t.take(), { delayMs: 0, countAttempt: false });
    const again = await t.take();
    assert.deepEqual([again.attempt, again.interrupted], [2, !t.lacks('interruptions')]);
  });

  law('renew keeps a lease past its first end', async (t) => {
    await t.put();
    const lease = await t.take({ leaseMs: 2 * second });
    for (let round = 0; round < 3; round++) {
      await t.advance(second);
      assert.equal(await t.renew(lease, 2 * second), true);
    }
    await t.reap();
    await t.nothingComes();
    assert.equal(await t.ack(lease), true);
  });

  law('a renewed lease ends in its turn', async (t) => {
    await t.put();
    const lease = await t.take({ leaseMs: 2 * second });
    await t.advance(second);
    assert.equal(await t.renew(lease, 2 * second), true);
    await t.advance(2 * second);
    await t.reap();
    assert.equal((await t.take()).attempt, 2);
  });

  law('renewals are answered one by one, in their order', async (t) => {
    for (let i = 0; i < 3; i++) await t.put();
    const [first, second, third] = (await t.takeMany(3)) as [JobLease, JobLease, JobLease];
    assert.equal(await t.ack(second), true);
    assert.deepEqual(await t.backend.renew([first, second, third], minute), [true, false, true]);
  });

  for (const first of ['ack', 'nack', 'abandon']) {
    law(
      `a lease settles once: after ${first} it is good for nothing`,
      async (t) => {
        await t.put();
        const lease = await t.take();
        assert.equal(await verbs[first]!(t, lease), true);
        for (const [verb, use] of Object.entries(verbs)) {
          assert.equal(await use(t, lease), false, `${verb} after ${first} must answer false`);
        }
        await t.advance(hour);
        await t.reap();
        const comesBack = await t.takeAll();
        assert.deepEqual(
          comesBack.map(({ attempt }) => attempt),
          first === 'nack' ? [2] : [],
        );
      },
      first === 'nack' ? { takesTime: true } : {},
    );
  }

  law('the same lease twice in one batch settles once', async (t) => {
    await t.put();
    const lease = await t.take();
    const answers = await t.backend.ack([{ lease }, { lease }]);
    assert.deepEqual(answers.sort(), [false, true]);
  });

  law(
    'a lease is plain data: it survives being written and read, and any process may settle it',
    async (t) => {
      await t.put();
      const lease = await t.take();
      const sent = JSON.parse(JSON.stringify(lease)) as JobLease;
      assert.deepEqual(sent, lease);
      const elsewhere = t.lacks('use elsewhere') ? t.backend : t.openings.at(-1)!;
      assert.deepEqual(await elsewhere.renew([sent], minute), [true]);
      assert.deepEqual(await elsewhere.ack([{ lease: sent }]), [true]);
      if (!t.lacks('settled elsewhere')) assert.equal(await t.ack(lease), false);
      if (t.lacks('use elsewhere'))
        assert.deepEqual(await t.openings.at(-1)!.ack([{ lease: sent }]), [false]);
      await t.nothingEverComes();
    },
  );
}
