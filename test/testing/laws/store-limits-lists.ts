import assert from 'node:assert/strict';
import { day, hour, minute, second } from './kit.ts';
import type { Law } from './law.ts';
import { key, limitsOf, request, slotOf, stateOf, take, yes } from './store-limits-kit.ts';

const texts = [
  ...[
    '%',
    '_',
    '*',
    '?',
    '[a]',
    `'; DROP TABLE limits; --`,
    '"',
    '\\',
    '\\5c;',
    '/',
    '#',
    'a b',
    ' ',
    '__proto__',
  ],
  ...[
    '\t\n',
    '\u0000',
    'é',
    'e\u0301',
    '世界',
    '\u{1f600}',
    'A',
    'a',
    '{',
    '\u007f',
    '\u202eabc',
    'x'.repeat(490),
  ],
];

export function limitListLaws(law: Law): void {
  law(
    'keys that are held until a reset are known to every opening, by the start of their names',
    async (t) => {
      const stores = limitsOf(t).filter((limits) => limits.heldUntilReset);
      const [limits] = stores;
      if (!limits) return;
      await limits.hold('stop:b', Infinity);
      await limits.hold('stop:a', Infinity);
      await limits.hold('stop:briefly', minute);
      await limits.hold('other:c', Infinity);
      await take(limits, request('anna', { key: 'stop:used' }));
      for (const one of stores) assert.deepEqual(await one.heldUntilReset!('stop:'), ['stop:a', 'stop:b']);
      assert.equal(await stores.at(-1)!.reset('stop:a'), true);
      for (const one of stores) assert.deepEqual(await one.heldUntilReset!('stop:'), ['stop:b']);
      assert.deepEqual(await limits.heldUntilReset!('none:'), []);
    },
  );

  law('a list shows what is in use, held or waited for', async (t) => {
    const [limits] = limitsOf(t);
    const at = t.now();
    await limits!.take([
      ...['anna', 'ben', 'carl'].map((name, n) =>
        request(name, { limit: 9 - n, holdMs: minute - n * second, key: 'b' }),
      ),
      request('dora', { key: 'c' }),
      request('emil', { key: 'c' }),
      request('fred', { key: 'ended', holdMs: 1 }),
    ]);
    await limits!.hold('a', minute);
    await t.advance(1);
    const slots = ['carl', 'ben', 'anna'].map((holder, n) => ({ holder, until: at + (58 + n) * second }));
    const none = { limit: null, used: 0, slots: [], heldUntil: null, waiting: 0 };
    assert.deepEqual(await limits!.list({}), [
      { ...none, key: 'a', heldUntil: at + minute },
      { ...none, key: 'b', limit: 7, used: 3, slots },
      { ...none, key: 'c', limit: 1, used: 1, slots: [{ holder: 'dora', until: at + minute }], waiting: 1 },
    ]);
  });

  law('a list names twenty slots, those that end first', async (t) => {
    const [limits] = limitsOf(t);
    const requests = Array.from({ length: 25 }, (_, n) =>
      request(`job ${n}`, { limit: 50, holdMs: minute + ((n * 7) % 25) * second }),
    );
    await limits!.take(requests);
    const { used, slots } = (await stateOf(limits!))!;
    assert.equal(used, 25);
    assert.deepEqual(
      slots.map(({ until }) => until - t.now()),
      Array.from({ length: 20 }, (_, n) => minute + n * second),
    );
  });

  law('keys differ to the last character, and are found by how they begin', async (t) => {
    const [limits] = limitsOf(t);
    const keys = texts.map((text) => `job:${text}`);
    const answers = await limits!.take(keys.map((each) => request('anna', { key: each })));
    assert.deepEqual(
      answers,
      keys.map(() => yes(1)),
    );
    await limits!.take(keys.map((each) => request('ben', { key: each })));
    assert.deepEqual((await limits!.waitsFor(['ben']))[0]!.toSorted(), keys.toSorted());
    assert.deepEqual(await limits!.waitsFor(['anna']), [[]]);
    const seen = await limits!.list({ prefix: 'job:', max: 1_000 });
    assert.deepEqual(new Set(seen.map((state) => state.key)), new Set(keys));
    for (const each of keys) {
      const found = await limits!.list({ prefix: each });
      assert.deepEqual(
        new Set(found.map((state) => state.key)),
        new Set(keys.filter((one) => one.startsWith(each))),
      );
    }
    for (const each of keys) {
      const woken = await limits!.free([{ key: each, holder: 'anna', owner: 'lease of anna' }]);
      assert.deepEqual(woken, [{ key: each, holder: 'ben', queue: 'mail' }]);
    }
    assert.deepEqual(await limits!.list({}), []);
  });

  law('pages of a list have each key once, in the order of their characters', async (t) => {
    const [limits] = limitsOf(t);
    const keys = Array.from({ length: 23 }, (_, n) => `job:${String(n).padStart(2, '0')}`);
    for (const [n, each] of keys.entries()) {
      if (n % 3 === 0) await limits!.hold(each, hour);
      else await limits!.take([request('anna', { key: each }), request('ben', { key: each, holdMs: hour })]);
    }
    await limits!.take([request('anna', { key: 'job' }), request('anna', { key: 'jobs' })]);
    const seen: string[] = [];
    for (let after: string | undefined; ; after = seen.at(-1)) {
      const page = await limits!.list({ prefix: 'job:', max: 5, ...(after !== undefined && { after }) });
      seen.push(...page.map((state) => state.key));
      if (page.length < 5) break;
    }
    assert.deepEqual(seen, keys);
    assert.deepEqual(await limits!.list({ prefix: 'job:', after: 'zzz' }), []);
    assert.equal((await limits!.list({ prefix: 'job:', after: 'aaa', max: 2 })).length, 2);
    assert.deepEqual(await limits!.list({ max: 0 }), []);
  });

  law('what a job waits for can be asked', async (t) => {
    const [limits] = limitsOf(t);
    const anna = ['b', 'a', 'c'].map((each) => request('anna', { key: each }));
    await limits!.take(anna);
    await limits!.take(anna.map((one) => ({ ...one, holder: 'ben' })));
    assert.deepEqual(await limits!.waitsFor(['ben']), [['a', 'b', 'c']]);
    await limits!.free([slotOf(anna[0]!)]);
    assert.deepEqual(await limits!.waitsFor(['ben']), [['a', 'c']]);
    await t.advance(minute);
    await take(limits!, request('ben', { key: 'c' }));
    assert.deepEqual(await limits!.waitsFor(['ben']), [['a']]);
    assert.deepEqual(await limits!.waitsFor(['nobody']), [[]]);
  });

  law(
    'a purge removes nothing that counts, and in the end all that has ended',
    async (t) => {
      const [limits] = limitsOf(t);
      await limits!.take([
        request('anna'),
        request('ben'),
        request('carl', { key: 'short', holdMs: second }),
      ]);
      await limits!.hold('held', minute);
      await t.advance(2 * second);
      for (let gone = 1; gone > 0; ) gone = await t.stores.records.purge();
      const keys = async () => (await limits!.list({})).map((state) => state.key);
      assert.deepEqual(await keys(), ['held', key]);
      assert.deepEqual(await limits!.waitsFor(['ben']), [[key]]);
      await t.advance(30 * day);
      for (let gone = 1; gone > 0; ) gone = await t.stores.records.purge();
      assert.deepEqual(await keys(), []);
    },
    { takesTime: true },
  );
}
