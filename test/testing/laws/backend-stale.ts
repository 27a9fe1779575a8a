/**
 * Nothing settles without the token. A worker that lost its lease may still believe in it: its code was slow, its
 * machine slept, its network was cut. Whatever it then does must answer `false` and change nothing.
 */

import assert from 'node:assert/strict';
import type { JobLease } from '../../../core/contract/queue.ts';
import { verbs } from './backend-settling.ts';
import { type Kit, mail, minute, queues, reports, second } from './kit.ts';
import type { Law } from './law.ts';

/** The ways in which another worker comes to own the message. */
const losses: Readonly<Record<string, (t: Kit, lease: JobLease) => Promise<void>>> = {
  async 'expired and was reaped'(t) {
    await t.advance(2 * second);
    await t.reap();
  },
  async 'was released'(t, lease) {
    assert.equal(await t.backend.nack(lease, { delayMs: 0, countAttempt: true }), true);
  },
};

export function staleLeaseLaws(law: Law): void {
  for (const [verb, use] of Object.entries(verbs)) {
    law(`a lease that expired settles nothing by ${verb}, even before it is reaped`, async (t) => {
      await t.put();
      const stale = await t.take({ leaseMs: 2 * second });
      await t.advance(2 * second);
      assert.equal(await use(t, stale), false);
      await t.reap();
      const again = await t.take();
      assert.deepEqual([again.attempt, again.interrupted], [2, !t.lacks('interruptions')]);
      assert.equal(await t.ack(again), true);
    });

    for (const [loss, lose] of Object.entries(losses)) {
      law(
        `a lease that ${loss} settles nothing by ${verb} once another worker owns the message`,
        async (t) => {
          await t.put();
          const stale = await t.take({ leaseMs: 2 * second });
          await lose(t, stale);
          const owner = await t.take({ leaseMs: minute });
          assert.equal(await use(t, stale), false);
          await t.nothingComes();
          assert.equal(await t.ack(owner), true, 'the new owner must still be able to ack');
          await t.nothingEverComes();
        },
      );
    }
  }

  law('a stale renewal does not lengthen the lease of the new owner', async (t) => {
    await t.put();
    const stale = await t.take({ leaseMs: 2 * second });
    await t.advance(2 * second);
    await t.reap();
    await t.take({ leaseMs: 2 * second });
    assert.equal(await t.renew(stale, minute), false);
    await t.advance(2 * second);
    await t.reap();
    assert.equal((await t.take()).attempt, 3);
  });

  law(
    'a queue that reaps for all takes back what other processes have leased, from several queues at once',
    async (t) => {
      if (!t.backend.hints?.reapsForAll) return;
      for (const queue of [mail, mail, reports]) await t.put({ queue });
      for (let n = 0; n < 3; n++) await t.take({ queues, leaseMs: minute });
      const reap = () => Promise.all(queues.map((queue) => t.openings.at(-1)!.reapExpired(queue)));
      assert.deepEqual(await reap(), [0, 0]);
      await t.advance(minute);
      assert.deepEqual(await reap(), [2, 1]);
      for (let n = 0; n < 3; n++) assert.equal((await t.take({ queues })).attempt, 2);
    },
  );

  law('a stale lease in a batch of acks does not stop its neighbours', async (t) => {
    await t.put();
    const stale = await t.take({ leaseMs: 2 * second });
    await t.put();
    await t.put();
    const [first, last] = (await t.takeMany(2)) as [JobLease, JobLease];
    await t.advance(2 * second);
    const answers = await t.backend.ack([{ lease: first }, { lease: stale }, { lease: last }]);
    assert.deepEqual(answers, [true, false, true]);
    await t.reap();
    assert.equal((await t.take()).attempt, 2);
  });

  law('a stale lease in a batch of renewals does not stop its neighbours', async (t) => {
    await t.put();
    const stale = await t.take({ leaseMs: 2 * second });
    await t.put();
    await t.put();
    const [first, last] = (await t.takeMany(2, { leaseMs: 3 * second })) as [JobLease, JobLease];
    await t.advance(2 * second);
    assert.deepEqual(await t.backend.renew([first, stale, last], minute), [true, false, true]);
    await t.advance(2 * second);
    await t.reap();
    const back = await t.takeAll();
    assert.deepEqual(
      back.map(({ body }) => body),
      [stale.body],
    );
  });
}
