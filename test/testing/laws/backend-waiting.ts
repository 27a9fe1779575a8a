import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchRequest, JobLease } from '../../../core/contract/queue.ts';
import { bodiesOf, type Kit, mail, minute, second } from './kit.ts';
import type { Law } from './law.ts';

const longWait = { queues: [mail], max: 10, leaseMs: minute, waitMs: minute };
const stepMs = 20;
/** In steps: the longest that a fetch may oversleep what it waits for. */
const patience = 5_000 / stepMs;

/** Starts a fetch that finds nothing yet, and makes sure that it waits. */
export async function startWaiting(
  t: Kit,
  signal?: AbortSignal,
  how: Partial<FetchRequest> = {},
): Promise<() => Promise<JobLease[]>> {
  let result: JobLease[] | null = null;
  let failure: unknown = null;
  t.backend.fetch({ ...longWait, ...how, ...(signal ? { signal } : {}) }).then(
    (leases) => {
      result = leases;
    },
    (error) => {
      failure = error;
    },
  );
  await step(t);
  assert.equal(result, null, 'the fetch must wait while there is nothing to give');
  // Time passes in small steps, so that virtual clocks, timers and sockets all get their turn.
  return async () => {
    for (let i = 0; i < patience && result === null && failure === null; i++) await step(t, i);
    assert.equal(failure, null);
    assert.ok(result, 'the fetch must end long before its waitMs');
    return result;
  };
}

/** @param n how many were taken before: sockets of a busy machine get longer and longer */
async function step(t: Kit, n = 0): Promise<void> {
  await t.advance(stepMs);
  await sleep(1 + n / 10);
}

export function waitingLaws(law: Law): void {
  law('a fetch that may wait returns as soon as a message arrives', async (t) => {
    const arrival = await startWaiting(t);
    const { body } = await t.put();
    assert.deepEqual(bodiesOf(await arrival()), [body]);
  });

  law('a fetch that waits is given each message once, by whomever it was sent', async (t) => {
    for (const sender of [...t.openings, ...t.openings, ...t.openings]) {
      const arrival = await startWaiting(t);
      const message = t.message({ hints: { isNew: true } });
      await sender.enqueue([message]);
      const leases = await arrival();
      assert.deepEqual(bodiesOf(leases), [message.body]);
      await t.nothingComes();
      assert.deepEqual(await t.backend.renew(leases, minute), [true]);
      assert.equal(await t.ack(leases[0]!), true);
    }
    await t.nothingEverComes();
  });

  law('a fetch that may wait also notices what another process sends', async (t) => {
    const arrival = await startWaiting(t);
    const message = t.message();
    await t.openings.at(-1)!.enqueue([message]);
    assert.deepEqual(bodiesOf(await arrival()), [message.body]);
  });

  law(
    'a fetch that may wait returns as soon as a message becomes due',
    async (t) => {
      const { body } = await t.put({ notBefore: t.now() + 2 * second });
      const due = await startWaiting(t);
      assert.deepEqual(bodiesOf(await due()), [body]);
    },
    { needs: 'delays' },
  );

  law('a fetch that may wait returns as soon as a message is released', async (t) => {
    await t.put();
    const lease = await t.take();
    const released = await startWaiting(t);
    await t.backend.nack(lease, { delayMs: 0, countAttempt: true });
    assert.deepEqual(
      (await released()).map(({ attempt }) => attempt),
      [2],
    );
  });

  law('a waiting fetch whose signal aborts resolves with nothing', async (t) => {
    const controller = new AbortController();
    const aborted = await startWaiting(t, controller.signal);
    controller.abort();
    assert.deepEqual(await aborted(), []);
  });

  law('a fetch whose signal has aborted already does not wait', async (t) => {
    assert.deepEqual(await t.backend.fetch({ ...longWait, signal: AbortSignal.abort() }), []);
  });

  law('a message that arrives after an aborted fetch is not lost', async (t) => {
    const controller = new AbortController();
    const aborted = await startWaiting(t, controller.signal);
    controller.abort();
    const { body } = await t.put();
    const given = await aborted();
    // The call that waited may have taken the message, and hand it over when it is back.
    for (let i = 0; i < patience && given.length === 0; i++) {
      given.push(...(await t.takeAll()));
      await step(t, i);
    }
    assert.deepEqual(bodiesOf(given), [body]);
  });

  law('a fetch that waited in vain resolves with nothing after its waitMs', async (t) => {
    let ended = false;
    const fetched = t.backend.fetch({ ...longWait, waitMs: 2 * second }).finally(() => {
      ended = true;
    });
    for (let i = 0; i < patience && !ended; i++) await step(t, i);
    assert.ok(ended, 'the fetch must end soon after its waitMs');
    assert.deepEqual(await fetched, []);
  });

  law('closing the backend ends a fetch that waits', async (t) => {
    const closed = await startWaiting(t);
    await t.backend.close();
    assert.deepEqual(await closed(), []);
  });
}
