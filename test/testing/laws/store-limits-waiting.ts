import assert from 'node:assert/strict';
import type { SlotRequest } from '../../../core/contract/derived/limits.ts';
import { day, hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { holdersOf, key, limitsOf, no, request, slotOf, stateOf, take, yes } from './store-limits-kit.ts';

export function limitWaiterLaws(law: Law): void {
  law('a slot that is given back wakes the one of the lowest rank, and nobody twice', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna');
    await take(limits!, anna);
    const waiting = { key, holder: 'carl', queue: 'reports' };
    await limits!.take([
      request('ben', { rank: 8.5 }),
      request('carl', { rank: -3, queue: 'reports' }),
      request('dora', { rank: 2 ** 53 - 1 }),
      request('emil', { rank: 8 }),
    ]);
    assert.deepEqual(await limits!.free([slotOf(anna)]), [waiting]);
    assert.deepEqual(holdersOf(await limits!.wake(key, 1)), ['emil']);
    assert.deepEqual(await limits!.wake(key, 0), []);
    assert.deepEqual(await take(limits!, request('carl')), yes(1));
    assert.deepEqual(await limits!.wake(key, 5), []);
    assert.deepEqual(holdersOf(await limits!.free([slotOf(request('carl'))])), ['ben']);
    assert.deepEqual(holdersOf(await limits!.wake(key, 5)), ['dora']);
    assert.deepEqual(await limits!.wake(key, 5), []);
  });

  law('as many are woken as slots were given back', async (t) => {
    const [limits] = limitsOf(t);
    const names = Array.from({ length: 8 }, (_, n) => `job ${n}`);
    const requests = names.map((name, rank) => request(name, { limit: 3, rank }));
    const other = [request('x', { key: 'other' }), request('y', { key: 'other' })];
    await limits!.take([...requests, ...other]);
    const [a, b, c] = requests as [SlotRequest, SlotRequest, SlotRequest];
    const woken = await limits!.free([slotOf(a), slotOf(other[0]!), slotOf(b)]);
    assert.deepEqual(holdersOf(woken).sort(), ['job 3', 'job 4', 'y']);
    assert.deepEqual(holdersOf(woken.filter((one) => one.key === key)), ['job 3', 'job 4']);
    // Two slots are free, so two may come.
    assert.deepEqual(holdersOf(await limits!.wake(key, 9)), ['job 5', 'job 6']);
    assert.deepEqual(holdersOf(await limits!.free([slotOf(c)])), ['job 7']);
  });

  law('no more are woken than slots are free, when the limit has become smaller', async (t) => {
    const [limits] = limitsOf(t);
    const running = ['anna', 'ben', 'carl'].map((name) => request(name, { limit: 3 }));
    await limits!.take(running);
    assert.deepEqual(await take(limits!, request('dora', { limit: 2 })), no(2, 0, minute, 3));
    const woken = [];
    for (const one of running) woken.push(holdersOf(await limits!.free([slotOf(one)])));
    assert.deepEqual(woken, [[], ['dora'], []]);
  });

  law('none is woken while the key is held', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna');
    await limits!.take([anna, request('ben')]);
    await limits!.hold(key, minute);
    assert.deepEqual(await limits!.free([slotOf(anna)]), []);
    assert.deepEqual(await limits!.wake(key, 5), []);
    await t.advance(minute);
    assert.deepEqual(holdersOf(await limits!.wake(key, 5)), ['ben']);
  });

  law('who gets a slot, or asks again, does not wait twice', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna');
    await limits!.take([anna, request('ben', { rank: 1 }), request('carl', { rank: 2 })]);
    // In another place, and from another queue.
    assert.deepEqual(
      await take(limits!, request('ben', { rank: 3, queue: 'reports' })),
      no(1, 1, 2 * minute),
    );
    assert.equal((await stateOf(limits!))!.waiting, 2);
    await limits!.free([slotOf(anna)]);
    assert.deepEqual(await take(limits!, request('ben')), yes(1));
    assert.equal((await stateOf(limits!))!.waiting, 0);
  });

  law('holders that share a name wait as one, and each of them has a slot of its own', async (t) => {
    const [limits] = limitsOf(t);
    const [first, second, third] = [1, 2, 3].map((n) =>
      request(`anna#${n}`, { limit: 2, waiter: 'anna', rank: 1 }),
    ) as [SlotRequest, SlotRequest, SlotRequest];
    assert.deepEqual(await limits!.take([first, second, third]), [yes(2), yes(2), no(2, 0, minute)]);
    // Asked again, also under another name of its own.
    const fourth = { ...third, holder: 'anna#4', rank: 3 };
    assert.deepEqual(await limits!.take([third, fourth]), [no(2, 0, minute), no(2, 0, minute)]);
    assert.deepEqual(await take(limits!, request('ben', { limit: 2, rank: 2 })), no(2, 0, minute));
    assert.equal((await stateOf(limits!))!.waiting, 2);
    assert.deepEqual(await limits!.waitsFor(['anna', 'anna#3']), [[key], []]);
    assert.deepEqual(holdersOf(await limits!.free([slotOf(first), slotOf(second)])), ['ben', 'anna']);
    await limits!.take([first, third, fourth]);
    assert.deepEqual(holdersOf(await limits!.free([slotOf(first)])), ['anna']);
    await limits!.take([second, first, fourth]);
    assert.deepEqual(await limits!.free([slotOf(third)]), [{ key, holder: 'anna', queue: 'mail' }]);
    // Who gets a slot waits no more under its name.
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, minute, 2));
    assert.deepEqual(await take(limits!, { ...first, waiter: 'ben' }), yes(2));
    assert.equal((await stateOf(limits!))!.waiting, 0);
  });

  law('who leaves waits for no key any more, and those behind move up', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna');
    const other = { key: 'other' };
    const waiting = ['ben', 'carl', 'dora'].map((name, rank) => request(name, { rank }));
    await limits!.take([anna, ...waiting, request('x', other), request('ben', other)]);
    await limits!.leave(['ben', 'carl', 'nobody']);
    assert.deepEqual(await limits!.waitsFor(['ben', 'dora']), [[], [key]]);
    assert.deepEqual([(await stateOf(limits!))!.waiting, (await stateOf(limits!, 'other'))!.waiting], [1, 0]);
    assert.deepEqual(await take(limits!, request('emil', { rank: 3 })), no(1, 1, 2 * minute));
    assert.deepEqual(holdersOf(await limits!.free([slotOf(anna)])), ['dora']);
    // It is as welcome as before.
    assert.deepEqual(await take(limits!, request('ben')), yes(1));
    await limits!.leave([]);
  });

  law(
    'jobs that nothing can wake are counted once while they wait, and no more when they run or leave',
    async (t) => {
      const [limits] = limitsOf(t);
      const anna = request('anna');
      await take(limits!, anna);
      const job = (name: string) => request(name, { unwakeable: true });
      const waiting = async () => (await stateOf(limits!))?.waiting ?? 0;
      const answers = await limits!.take(['ben', 'carl', 'dora'].map(job));
      assert.deepEqual(
        answers.map((answer) => !answer.taken && answer.ahead),
        [0, 1, 2],
      );
      for (const name of ['carl', 'ben', 'carl']) assert.equal((await take(limits!, job(name))).taken, false);
      assert.equal(await waiting(), 3);
      assert.deepEqual(await limits!.waitsFor(['ben', 'emil']), [[key], []]);
      await limits!.leave(['dora', 'emil']);
      await limits!.leave(['dora']);
      assert.equal(await waiting(), 2);
      assert.deepEqual(await limits!.waitsFor(['dora']), [[]]);
      await limits!.free([slotOf(anna)]);
      assert.deepEqual(await take(limits!, job('ben')), yes(1));
      assert.deepEqual(await limits!.waitsFor(['ben']), [[]]);
      assert.ok((await waiting()) <= 1, 'a job that runs still waits');
      // Waiters that are let go ask by themselves.
      await limits!.reset(key);
      while ((await limits!.wake(key, 10)).length > 0);
      assert.equal(await waiting(), 0);
    },
  );

  law('jobs that wait for a rate and cannot be woken hear of slots of their own', async (t) => {
    const [limits] = limitsOf(t);
    const start = (n: number) =>
      request(`start ${n}`, { limit: 20, isStart: true, unwakeable: true, rank: n });
    for (let n = 0; n < 20; n++) {
      await take(limits!, start(n));
      await t.advance(second);
    }
    for (let n = 20; n < 45; n++) {
      const answer = await take(limits!, start(n));
      const turnMs = (40 + Math.floor((n - 20) / 20) * 60) * second;
      assert.ok(!answer.taken && answer.waitMs >= turnMs, `${n} comes too early`);
      assert.ok(answer.waitMs <= turnMs + 22 * second, `${n} comes too late`);
    }
  });

  law('a refused job hears how many are ahead and how long they take', async (t) => {
    const [limits] = limitsOf(t);
    const slots = [10, 30, 20].map((s, n) => request(`slot ${n}`, { limit: 3, holdMs: s * second }));
    await limits!.take(slots);
    const answers = await limits!.take(
      Array.from({ length: 8 }, (_, n) => request(`job ${n}`, { limit: 3, rank: n, holdMs: 7 * second })),
    );
    const rounds = [0, 0, 0, 1, 1, 1, 2, 2];
    assert.deepEqual(
      answers,
      rounds.map((round, n) => no(3, n, (10 + round * 7) * second)),
    );
    const urgent = request('urgent', { limit: 3, rank: 2.5, holdMs: 100 });
    assert.deepEqual(await take(limits!, urgent), no(3, 3, 10 * second + 100));
    await limits!.hold(key, minute);
    assert.deepEqual(await take(limits!, urgent), no(3, 3, minute + 100));
  });

  law(
    'a job that has not asked for long waits no more',
    async (t) => {
      const [limits] = limitsOf(t);
      const anna = request('anna', { holdMs: 2 * hour });
      await limits!.take([anna, request('ben')]);
      await t.advance(2 * hour + day - 1);
      assert.deepEqual(await limits!.waitsFor(['ben']), [[key]]);
      await t.advance(1);
      assert.deepEqual(await limits!.waitsFor(['ben']), [[]]);
      assert.deepEqual(await limits!.wake(key, 5), []);
      assert.equal(await stateOf(limits!), undefined);
      await limits!.hold(key, Infinity);
      await take(limits!, request('ben'));
      await t.advance(30 * day);
      assert.deepEqual(await take(limits!, request('carl', { rank: 1 })), no(1, 0, Infinity));
    },
    { takesTime: true },
  );
}
