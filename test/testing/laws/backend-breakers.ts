/** Laws of breakers: jobs that fail anyway wait, on all workers, until one that is tried succeeds. */

import assert from 'node:assert/strict';
import { minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { failures, type Stopping, stopping } from './stopping-kit.ts';

const most = 3;
const openMs = minute;
const fragile = { breaker: { failures: most, openMs } };

/** Workers notice each other's failures within this time. */
const heardMs = second;

/** Opens the breaker, and lets `waiting` jobs wait for it. */
async function opened(s: Stopping, waiting: number): Promise<string[]> {
  for (let n = 0; n < most; n++) {
    await s.put();
    await s.workers[0].ends('fail');
  }
  const ids: string[] = [];
  for (let n = 0; n < waiting; n++) {
    ids.push(await s.put());
    await s.workers[0].waits();
  }
  return ids;
}

export function breakerLaws(law: Law): void {
  law(
    'failures in a row over all workers open a breaker, and no job begins on any of them',
    async (t) => {
      const s = stopping(t, fragile);
      const [a, b] = s.workers;
      for (const worker of [a, b, a]) {
        await s.put();
        assert.equal((await worker.ends('fail')).outcome, 'dead-lettered');
      }
      assert.equal(s.told('breaker.opened'), 1);
      await t.advance(heardMs);
      const ids = [await s.put(), await s.put()];
      assert.equal((await a.waits()).delayMs, openMs - heardMs);
      await b.waits();
      await t.nothingComes();
      assert.equal(s.began(), most);
      await s.areUntouched(ids);
    },
    { takesTime: true },
  );

  law('a success forgets the failures before it', async (t) => {
    const s = stopping(t, fragile);
    for (const how of ['fail', 'fail', 'ok', 'fail', 'fail'] as const) {
      await s.put();
      await t.advance(heardMs);
      await s.workers[s.began() % 2]!.ends(how);
    }
    await s.put();
    await s.workers[1].ends('ok');
    assert.equal(s.told('breaker.opened'), 0);
  });

  law(
    'when the time of an open breaker is over one job is tried, and its success wakes all',
    async (t) => {
      const s = stopping(t, fragile);
      const [a, b] = s.workers;
      const ids = await opened(s, 4);
      await t.advance(openMs);
      await s.put();
      const [tried, ...others] = [...(await b.all()), ...(await a.all())];
      assert.ok(tried, 'expected one job to be tried');
      assert.equal(others.length, 0);
      await s.areUntouched(ids.filter((id) => id !== tried.run.id));
      assert.equal((await tried.finish()).outcome, 'acked');
      assert.equal(s.told('breaker.closed'), 1);
      if (!t.backend.pending) await t.advance(openMs); // they cannot be woken
      await t.advance(heardMs);
      const rest = [...(await a.all()), ...(await b.all())];
      assert.equal(rest.length, 4);
      for (const one of rest) {
        assert.equal(one.run.lease.attempt, 1);
        await one.finish();
      }
      await t.nothingEverComes();
    },
    { takesTime: true },
  );

  law(
    'when the one that is tried fails, the breaker opens again',
    async (t) => {
      const s = stopping(t, fragile);
      const [a, b] = s.workers;
      await opened(s, 2);
      await t.advance(openMs);
      const [tried] = await a.all();
      assert.ok(tried, 'expected one job to be tried');
      await tried.finish(failures.fail());
      assert.equal(s.told('breaker.opened'), 2);
      await t.advance(heardMs);
      assert.deepEqual(await b.all(), []);
      const id = await s.put();
      await b.waits();
      await s.areUntouched([id]);
      await t.advance(openMs);
      const again = await b.all();
      assert.equal(again.length, 1);
      await again[0]!.finish();
      assert.equal(s.told('breaker.closed'), 1);
    },
    { takesTime: true },
  );

  law(
    'when the worker of the one that is tried dies, the next one is tried',
    async (t) => {
      const s = stopping(t, fragile);
      const [a, b] = s.workers;
      await opened(s, 0);
      await t.advance(openMs);
      await s.put();
      await a.begins(10 * second);
      await s.put();
      await b.waits();
      await t.advance(11 * second);
      await t.reap();
      const [tried, ...others] = await b.all();
      assert.ok(tried, 'expected the next one to be tried');
      assert.equal(others.length, 0);
      await tried.finish();
      assert.equal(s.told('breaker.closed'), 1);
    },
    { takesTime: true },
  );

  law('what was snoozed, released or cancelled has not failed', async (t) => {
    const s = stopping(t, { breaker: { failures: 1, openMs } });
    const [a, b] = s.workers;
    await s.put();
    assert.equal((await a.ends('snooze')).counted, false);
    for (const cause of ['shutdown', 'cancelled'] as const) {
      await s.put();
      const { run, finish } = await a.begins();
      run.interrupt(cause);
      await finish(failures.fail());
    }
    assert.equal(s.told('breaker.opened'), 0);
    await t.advance(heardMs);
    await s.put();
    await b.ends('ok');
  });

  law(
    'a worker that has lost its lease opens no breaker, and closes none',
    async (t) => {
      const s = stopping(t, { breaker: { failures: 1, openMs } });
      const [a, b] = s.workers;
      const stale = async () => {
        await s.put();
        const one = await a.begins(10 * second);
        await t.advance(11 * second);
        await t.reap();
        return one;
      };
      const failed = await stale();
      const owner = await b.begins();
      assert.equal((await failed.finish(failures.fail())).settled, false);
      assert.equal(s.told('breaker.opened'), 0);
      await owner.finish();
      await s.put();
      await b.ends('fail');
      assert.equal(s.told('breaker.opened'), 1);
      await t.advance(openMs);
      const succeeded = await stale();
      const [tried] = await b.all();
      assert.ok(tried, 'expected the next one to be tried');
      await tried.finish(failures.fail());
      assert.equal(s.told('breaker.opened'), 2);
      assert.equal((await succeeded.finish()).settled, false);
      assert.equal(s.told('breaker.closed'), 0);
      await t.advance(heardMs);
      await s.put();
      await a.waits();
    },
    { takesTime: true },
  );

  law('a worker that has just started knows that a breaker is open', async (t) => {
    const s = stopping(t, fragile);
    await opened(s, 0);
    const fresh = s.another();
    const id = await s.put();
    await fresh.waits();
    await s.areUntouched([id]);
  });
}
