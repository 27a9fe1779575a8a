import assert from 'node:assert/strict';
import type { StepStore } from '../../../core/contract/derived/steps.ts';
import { deliverTo, StepLog } from '../../../core/features/steps/log.ts';
import { nameOfJob } from '../../../core/features/steps/stored.ts';
import { deliver, register } from '../../../core/features/steps/waiters.ts';
import { swap } from '../../../core/kit/records/swap.ts';
import { day, hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { playSteps } from './steps-at-random.ts';
import { playLostAnswers } from './steps-lost-answers.ts';
import { clockOf, ownerOf, stepsOf } from './store-steps-kit.ts';

const oddNames = ['a', 'A', 'a ', 'ä', '\u{1f600}', 'a\0b', 'a\ud800', "a'b", 'a/b#c?d\\e', 'x'.repeat(500)];

export function stepLaws(law: Law): void {
  law('a text is written over the version that was read, and over no other', async (t) => {
    const stores = stepsOf(t);
    const [first, second_ = first] = stores as [StepStore, StepStore?];
    const endsAt = t.now() + day;
    assert.equal(await first.read('job:a'), null);
    assert.notEqual(await first.write('job:a', '"1"', null, endsAt), null);
    assert.equal(await second_.write('job:a', '"2"', null, endsAt), null);
    const found = await second_.read('job:a');
    assert.equal(found?.text, '"1"');
    assert.notEqual(await second_.write('job:a', '"3"', found.version, endsAt), null);
    assert.equal(await first.write('job:a', '"4"', found.version, endsAt), null);
    assert.equal(await first.remove('job:a', found.version), false);
    const now = await first.read('job:a');
    assert.equal(now?.text, '"3"');
    assert.equal(await first.remove('job:a', now.version), true);
    assert.equal(await first.remove('job:a', now.version), false);
    assert.equal(await second_.read('job:a'), null);
    assert.equal(await first.write('job:a', '"5"', now.version, endsAt), null);
  });

  law('a version that was there before a text was removed is not its version when it is back', async (t) => {
    const [store] = stepsOf(t) as [StepStore];
    const seen = new Set<string>();
    for (let n = 0; n < 3; n++) {
      await store.write('job:a', '"same"', null, t.now() + day);
      const { version } = (await store.read('job:a'))!;
      assert.ok(!seen.has(version), 'expected a version that was never there');
      seen.add(version);
      assert.ok(await store.remove('job:a', version));
    }
  });

  law('names and texts come back as they were, however odd or long', async (t) => {
    const [store] = stepsOf(t) as [StepStore];
    const longest = JSON.stringify('\u20ac'.repeat(Math.floor(262_144 / 3) - 1));
    const texts = ['"\\u0000"', '"\\u2028\\u2029"', '"\u{1f600}"', longest];
    const put = (i: number, name: string) =>
      store.write(`event:${name}`.slice(0, 500), texts[i] ?? `"${i}"`, null, t.now() + day);
    for (const [i, name] of oddNames.entries()) assert.notEqual(await put(i, name), null);
    for (const [i, name] of oddNames.entries()) {
      const found = await store.read(`event:${name}`.slice(0, 500));
      assert.equal(found?.text, texts[i] ?? `"${i}"`, `of name ${i}: texts are signed byte for byte`);
    }
  });

  law('of many who change one text at once none is lost', async (t) => {
    const stores = stepsOf(t);
    const add = (store: StepStore) =>
      swap(store, 'job:a', undefined, (text) => ({
        ...{ answer: null, text: `${Number(text ?? 0) + 1}`, endsAt: t.now() + day },
      }));
    await Promise.all(Array.from({ length: 24 }, (_, n) => add(stores[n % stores.length]!)));
    assert.equal((await stores[0]!.read('job:a'))?.text, '24');
  });

  law(
    'a text is there until its end',
    async (t) => {
      const [store] = stepsOf(t) as [StepStore];
      await store.write('job:a', '1', null, t.now() + 2 * hour);
      await t.advance(hour);
      await t.stores.records.purge();
      assert.equal((await store.read('job:a'))?.text, '1');
    },
    { takesTime: true },
  );

  law(
    'a purge removes what is past its end, and nothing else',
    async (t) => {
      const [store] = stepsOf(t) as [StepStore];
      await store.write('job:a', '1', null, t.now() + second);
      await store.write('job:b', '1', null, t.now() + day);
      await t.advance(hour);
      let removed = 0;
      for (let some = await t.stores.records.purge(); some > 0; some = await t.stores.records.purge())
        removed += some;
      assert.equal(removed, 1);
      assert.equal(await store.read('job:a'), null);
      assert.equal((await store.read('job:b'))?.text, '1');
    },
    { takesTime: true, needs: 'purges of steps' },
  );

  law('the next attempt reads what the one before remembered, and that one writes no more', async (t) => {
    const stores = stepsOf(t);
    const clock = clockOf(t);
    const late = await StepLog.open(stores[0]!, clock, ownerOf(t, 'a', 1));
    const one = { name: 'one', at: t.now(), value: { paid: true } };
    assert.deepEqual(await late!.put('one', () => one), one);
    await t.advance(minute);
    const next = await StepLog.open(stores.at(-1)!, clock, ownerOf(t, 'a', 2));
    assert.deepEqual(next!.steps, [one]);
    assert.equal(await late!.put('two', () => ({ name: 'two', at: t.now() })), null);
    assert.notEqual(await next!.put('two', () => ({ name: 'two', at: t.now(), value: 2 })), null);
    await late!.forget();
    const names = (await next!.look()).map(({ name }) => name);
    assert.deepEqual(names, ['one', 'two']);
    await next!.forget();
    assert.equal(await stores[0]!.read(nameOfJob('a')), null);
    assert.equal(await next!.put('three', () => ({ name: 'three', at: t.now() })), null);
  });

  law(
    'an attempt that wakes up late takes the job from nobody, and a job that begins anew goes on',
    async (t) => {
      const [store] = stepsOf(t) as [StepStore];
      const clock = clockOf(t);
      const frozen = ownerOf(t, 'a', 1, second);
      await t.advance(2 * second);
      const next = await StepLog.open(store, clock, ownerOf(t, 'a', 2));
      assert.equal(await StepLog.open(store, clock, frozen), null);
      assert.notEqual(await next!.put('one', () => ({ name: 'one', at: t.now() })), null);
      await t.advance(second);
      // As a dead letter that was retried.
      const anew = await StepLog.open(store, clock, ownerOf(t, 'a', 1));
      assert.deepEqual(
        anew?.steps.map(({ name }) => name),
        ['one'],
      );
    },
  );

  law('an event reaches each job that waits for it once, and no other', async (t) => {
    const stores = stepsOf(t);
    const clock = clockOf(t);
    const until = t.now() + day;
    const waits = async (id: string, key: string | null) => {
      const log = await StepLog.open(stores[0]!, clock, ownerOf(t, id, 1));
      await log!.put('wait', () => ({ name: 'wait', at: t.now(), until, event: 'approved', key }));
      const waiter = { id, queue: 'mail', step: 'wait', until };
      assert.equal(await register(stores[0]!, clock, 'approved', key, waiter), null);
      return log!;
    };
    const logs = [
      await waits('a', 'x'),
      await waits('b', 'x'),
      await waits('c', 'y'),
      await waits('d', null),
    ];
    const emit = async (payload: unknown, key: string | null) => {
      const got = { payload, at: t.now() };
      const given = { event: 'approved', key, got, keepMs: 0 };
      return (await deliver(stores.at(-1)!, clock, given)).reached;
    };
    const reached = await Promise.all([emit(1, 'x'), emit(2, 'x')]);
    assert.deepEqual(
      reached
        .flat()
        .map(({ id }) => id)
        .sort(),
      ['a', 'b'],
    );
    assert.deepEqual(await emit(3, 'x'), []);
    const gots = await Promise.all(logs.map(async (log) => 'got' in (await log.look())[0]!));
    assert.deepEqual(gots, [true, true, false, false]);
    // The owner goes on over what the event has written.
    assert.notEqual(await logs[0]!.put('next', () => ({ name: 'next', at: t.now() })), null);
    assert.deepEqual(
      (await logs[0]!.look()).map((step) => 'got' in step),
      [true, false],
    );
  });

  law('an event that comes after the end of a wait changes nothing', async (t) => {
    const [store] = stepsOf(t) as [StepStore];
    const clock = clockOf(t);
    const log = await StepLog.open(store, clock, ownerOf(t, 'a', 1));
    const wait = { name: 'wait', at: t.now(), until: t.now() + second, event: 'approved', key: null };
    await log!.put('wait', () => wait);
    await t.advance(second);
    const got = { payload: 1, at: t.now() };
    assert.deepEqual(await deliverTo(store, clock, 'a', { event: 'approved', key: null, got }), []);
    assert.deepEqual(await deliverTo(store, clock, 'nobody', { event: 'approved', key: null, got }), []);
    assert.deepEqual(await log!.look(), [wait]);
  });

  for (const seed of [1, 2, 3, 4])
    law(`whatever happens, steps are those of a model (sequence ${seed})`, (t) => playSteps(t, seed));

  for (const seed of [1, 2])
    law(`a step is done once though answers of the store are lost (sequence ${seed})`, (t) =>
      playLostAnswers(t, seed),
    );
}
