import assert from 'node:assert/strict';
import { day, hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { holdersOf, key, limitsOf, no, request, slotOf, stateOf, take, yes } from './store-limits-kit.ts';

export function limitLaws(law: Law): void {
  law('a key has as many slots as its limit says, for all openings together', async (t) => {
    const stores = limitsOf(t);
    const answers = [];
    for (let n = 0; n < 5; n++) {
      const limits = stores[n % stores.length]!;
      answers.push(await take(limits, request(`job ${n}`, { limit: 3, rank: n })));
    }
    assert.deepEqual(answers, [yes(3), yes(3), yes(3), no(3, 0, minute), no(3, 1, minute)]);
  });

  law('a call answers every request in its place, and a key counts from one to the next', async (t) => {
    const [limits] = limitsOf(t);
    const other = { key: 'queue:mail', limit: 2 };
    const answers = await limits!.take([
      request('anna'),
      request('anna', other),
      request('ben'),
      request('ben', other),
      request('carl', other),
      request('carl', { key: 'rate:mail' }),
    ]);
    assert.deepEqual(answers, [yes(1), yes(2), no(1, 0, minute), yes(2), no(2, 0, minute), yes(1)]);
    assert.deepEqual(await limits!.take([]), []);
    assert.deepEqual(await limits!.extend([], minute), []);
    assert.deepEqual(await limits!.free([]), []);
  });

  law('a slot ends by itself, and whoever held it changes nothing any more', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna', { holdMs: 2 * second });
    assert.deepEqual(await take(limits!, anna), yes(1));
    await t.advance(second);
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, second));
    await t.advance(second);
    assert.deepEqual(await limits!.extend([slotOf(anna)], minute), [false]);
    assert.deepEqual(await limits!.free([slotOf(anna)]), []);
    assert.deepEqual(await take(limits!, request('ben')), yes(1));
    assert.deepEqual(await limits!.extend([slotOf(anna)], minute), [false]);
    assert.deepEqual(await limits!.free([slotOf(anna)]), []);
    assert.deepEqual(await take(limits!, request('carl')), no(1, 0, minute));
  });

  law('the owner extends its slots, each by itself, and nobody else does', async (t) => {
    const [limits] = limitsOf(t);
    const [anna, ben] = [request('anna', { holdMs: 2 * second }), request('ben', { key: 'queue:mail' })];
    await limits!.take([anna, ben]);
    const wrong = { ...slotOf(anna), owner: 'an older lease' };
    const unknown = { ...slotOf(ben), key };
    const answers = await limits!.extend([wrong, slotOf(anna), unknown, slotOf(ben)], 3 * second);
    assert.deepEqual(answers, [false, true, false, true]);
    await t.advance(2 * second);
    // Also earlier than before.
    assert.deepEqual(await limits!.take([request('carl'), request('carl', { key: 'queue:mail' })]), [
      no(1, 0, second),
      no(1, 0, second),
    ]);
  });

  law('only its owner frees a slot, once', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna');
    await take(limits!, anna);
    assert.deepEqual(await limits!.free([{ ...slotOf(anna), owner: 'another' }]), []);
    assert.deepEqual(await limits!.free([{ ...slotOf(anna), holder: 'another' }]), []);
    assert.deepEqual(await limits!.free([{ ...slotOf(anna), key: 'another' }]), []);
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, minute));
    assert.deepEqual(holdersOf(await limits!.free([slotOf(anna), slotOf(anna)])), ['ben']);
    assert.deepEqual(await limits!.free([slotOf(anna)]), []);
    assert.deepEqual(await take(limits!, request('carl')), yes(1));
  });

  law('a job that asks again replaces its own slot, and its older lease owns nothing', async (t) => {
    const [limits] = limitsOf(t);
    const [first, second] = [request('anna'), request('anna', { owner: 'a newer lease', holdMs: hour })];
    assert.deepEqual(await take(limits!, first), yes(1));
    assert.deepEqual(await take(limits!, second), yes(1));
    assert.deepEqual(await limits!.extend([slotOf(first), slotOf(second)], hour), [false, true]);
    assert.deepEqual(await limits!.free([slotOf(first)]), []);
    assert.equal((await stateOf(limits!))!.used, 1);
    await t.advance(minute);
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, hour - minute));
  });

  law('a job that is refused keeps the slot it has', async (t) => {
    const [limits] = limitsOf(t);
    const first = request('anna', { limit: 2 });
    await limits!.take([first, request('ben', { limit: 2, holdMs: hour })]);
    assert.deepEqual(await take(limits!, request('anna', { owner: 'a newer lease' })), no(1, 0, hour, 2));
    assert.equal((await stateOf(limits!))!.used, 2);
    assert.deepEqual(await limits!.extend([slotOf(first)], minute), [true]);
  });

  law('while slots of several limits are in use the smallest counts', async (t) => {
    const [limits] = limitsOf(t);
    const [small, large] = [request('anna', { limit: 2 }), request('ben', { limit: 5 })];
    assert.deepEqual(await limits!.take([small, large]), [yes(2), yes(2, 5)]);
    assert.deepEqual(await take(limits!, request('carl', { limit: 5 })), no(2, 0, minute, 5));
    // So that both sides can tell that they disagree.
    assert.deepEqual(await take(limits!, request('emil', { limit: 3 })), no(2, 1, minute, 5));
    assert.deepEqual(await take(limits!, request('emil', { limit: 1 })), no(1, 1, 2 * minute, 5));
    assert.equal((await stateOf(limits!))!.limit, 2);
    await limits!.free([slotOf(small)]);
    assert.deepEqual(await take(limits!, request('carl', { limit: 5 })), yes(5));
    assert.deepEqual(await take(limits!, request('dora', { limit: 2 })), no(2, 0, minute, 5));
    // Its own slot does not count against it.
    assert.deepEqual(await take(limits!, request('carl', { limit: 2, owner: 'newer' })), yes(2, 5));
  });

  law('no window of a rate has more starts than slots', async (t) => {
    const [limits] = limitsOf(t);
    const [slots, windowMs] = [3, 10 * second];
    const starts: number[] = [];
    for (let n = 0; n < 60; n++) {
      const asked = request(`job ${n}`, { limit: slots, holdMs: windowMs });
      if ((await take(limits!, asked)).taken) starts.push(t.now());
      await t.advance(700 + ((n * 379) % 900));
    }
    for (const [i, from] of starts.entries())
      assert.ok((starts[i + slots] ?? Infinity) >= from + windowMs, `more than ${slots} from ${from} on`);
    assert.ok(starts.length >= 12, `expected the slots to be used, got ${starts.length} starts`);
  });

  law(
    'no window of a large rate has more starts than slots, and each ends within a hundredth of the window',
    async (t) => {
      const stores = limitsOf(t);
      const [slots, windowMs] = [40, 20 * second];
      const starts: number[] = [];
      let refusedAt = 0;
      for (let n = 0; n < 150; n++) {
        const asked = request(`start ${n}`, { limit: slots, holdMs: windowMs, isStart: true });
        const some = Array.from({ length: 1 + (n % 3) }, (_, i) => ({ ...asked, holder: `${n}#${i}` }));
        for (const { taken } of await stores[n % stores.length]!.take(some)) {
          if (taken) starts.push(t.now());
          else refusedAt = t.now();
        }
        if (refusedAt === t.now()) {
          const inUse = starts.filter((at) => at > refusedAt - windowMs * 1.01 - 1).length;
          assert.ok(inUse >= slots, 'a start was refused while slots were free');
        }
        await t.advance(70 + ((n * 379) % 500));
      }
      assert.ok(refusedAt > 0);
      for (const [i, from] of starts.entries())
        assert.ok((starts[i + slots] ?? Infinity) >= from + windowMs, `more than ${slots} from ${from} on`);
    },
  );

  law('a start that is given back at once leaves its slot to others', async (t) => {
    const [limits] = limitsOf(t);
    const start = (n: number) => request(`start ${n}`, { limit: 20, isStart: true });
    await limits!.take(Array.from({ length: 15 }, (_, n) => start(n)));
    await t.advance(30 * second);
    await limits!.take(Array.from({ length: 5 }, (_, n) => start(15 + n)));
    assert.equal((await take(limits!, start(20))).taken, false);
    await limits!.free([slotOf(start(17)), slotOf(start(17)), { ...slotOf(start(18)), owner: 'another' }]);
    assert.deepEqual(await take(limits!, start(21)), yes(20));
    assert.equal((await take(limits!, start(22))).taken, false);
    assert.equal((await stateOf(limits!))!.used, 20);
  });

  law('nobody gets a slot of a held key, and a shorter hold changes nothing', async (t) => {
    const [limits] = limitsOf(t);
    await limits!.hold(key, minute);
    await limits!.hold(key, second);
    await limits!.hold('another', 0);
    assert.deepEqual(await take(limits!, request('anna')), no(1, 0, minute));
    assert.deepEqual(await take(limits!, request('anna', { key: 'another' })), yes(1));
    assert.equal((await stateOf(limits!))!.heldUntil, t.now() + minute);
    await t.advance(second);
    await limits!.hold(key, hour);
    await t.advance(hour - 1);
    assert.deepEqual(await take(limits!, request('ben', { rank: 1 })), no(1, 1, 1 + minute));
    await t.advance(1);
    assert.deepEqual(await take(limits!, request('anna')), yes(1));
  });

  law('whoever has a slot of a key that is held keeps it', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna', { holdMs: 10 * second });
    await take(limits!, anna);
    await limits!.hold(key, 5 * second);
    assert.deepEqual(await limits!.extend([slotOf(anna)], 20 * second), [true]);
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, 20 * second));
    assert.deepEqual(await limits!.free([slotOf(anna)]), []);
    assert.deepEqual(await take(limits!, request('ben')), no(1, 0, 5 * second));
  });

  law(
    'a hold without end lasts until a reset',
    async (t) => {
      const [limits] = limitsOf(t);
      await limits!.hold(key, Infinity);
      await limits!.hold(key, day);
      assert.equal((await stateOf(limits!))!.heldUntil, Infinity);
      assert.deepEqual(await take(limits!, request('anna')), no(1, 0, Infinity));
      await t.advance(4_000 * day);
      await t.stores.records.purge();
      assert.deepEqual(await take(limits!, request('anna')), no(1, 0, Infinity));
      assert.equal(await limits!.reset(key), true);
      assert.deepEqual(await take(limits!, request('anna')), yes(1));
    },
    { takesTime: true },
  );

  law('a reset frees all slots and ends the hold; who waits still waits', async (t) => {
    const [limits] = limitsOf(t);
    const anna = request('anna', { limit: 2 });
    await limits!.take([anna, request('ben', { limit: 2 }), request('carl', { limit: 2 })]);
    await limits!.hold(key, hour);
    assert.equal(await limits!.reset(key), true);
    assert.equal(await limits!.reset(key), false);
    assert.equal(await limits!.reset('never used'), false);
    assert.deepEqual(await limits!.extend([slotOf(anna)], minute), [false]);
    const none = { key, limit: null, used: 0, slots: [], heldUntil: null };
    assert.deepEqual(await stateOf(limits!), { ...none, waiting: 1 });
    assert.deepEqual(holdersOf(await limits!.wake(key, 10)), ['carl']);
    assert.equal(await stateOf(limits!), undefined);
  });

  law(
    'of many that ask at once as many get a slot as there are, and no two free ones wake the same',
    async (t) => {
      const stores = limitsOf(t);
      const store = (n: number) => stores[n % stores.length]!;
      const requests = Array.from({ length: 40 }, (_, n) => [
        request(`job ${n}`, { limit: 7, rank: n }),
        request(`job ${n}`, { limit: 3, key: `half ${n % 2}` }),
      ]);
      // Each call names both keys, in this order or the other.
      const answers = await Promise.all(
        requests.map(async (both, n) => {
          const flip = n % 2 === 0;
          const given = await store(n).take(flip ? both : both.toReversed());
          return flip ? given : given.toReversed();
        }),
      );
      const taken = requests.filter((_, n) => answers[n]![0]!.taken).map(([first]) => slotOf(first!));
      assert.equal(taken.length, 7);
      for (const half of [0, 1])
        assert.equal(answers.filter(([, other], n) => n % 2 === half && other!.taken).length, 3);
      const woken = await Promise.all(taken.map((slot, n) => store(n).free([slot])));
      const holders = holdersOf(woken.flat());
      assert.equal(new Set(holders).size, holders.length, 'woken twice');
      const waited = requests.map(([first]) => first!.holder).filter((_, n) => !answers[n]![0]!.taken);
      assert.deepEqual(new Set(holders), new Set(waited.slice(0, 7)));
    },
  );
}
