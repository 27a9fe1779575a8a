/** The laws of texts: what seven stores are made of, so a backend that keeps them keeps the laws of those stores. */

import assert from 'node:assert/strict';
import type { TextStore } from '../../../core/contract/texts.ts';
import type { Runner } from './harness.ts';
import { minute } from './kit.ts';
import { type Law, lawsOf } from './law.ts';
import { besideAQueue, type StoreHarness } from './store-alone.ts';
import { named, namesOf, put, readOne, textsOf } from './texts-kit.ts';
import { endTextLaws, listTextLaws } from './texts-lists.ts';

const oddNames = [
  'a',
  'A',
  'a ',
  ' a',
  'ä',
  '\u{1f600}',
  'a\0b',
  'a\ud800',
  "a'b",
  'a/b#c?d\\e',
  'a"b',
  'x'.repeat(600),
];
const oddTexts = [
  '',
  '{}',
  ' a\nb\t\r\n',
  'Grüße, мир, 世界 \u{1f600} e\u0301 \u202eabc',
  `'; DROP TABLE texts; -- "\\" \\n %s $1 ? :a {{x}} <b>&amp;</b> \\u0000`,
];

/** For a store that keeps texts: `stores.texts` of what the harness opens. */
export function describeTexts(name: string, harness: StoreHarness, runner: Runner): void {
  const law = lawsOf(besideAQueue(harness), runner);
  runner.describe(`${name} keeps the laws of texts`, () => {
    runner.describe('one text', () => oneTextLaws(law));
    runner.describe('races', () => raceLaws(law));
    runner.describe('several texts in a call', () => severalLaws(law));
    runner.describe('lists', () => listTextLaws(law));
    runner.describe('ends', () => endTextLaws(law));
  });
}

function oneTextLaws(law: Law): void {
  law('a text that was never written is none', async (t) => {
    const [texts] = textsOf(t);
    assert.equal(await readOne(texts, 'a'), null);
    assert.deepEqual(await texts.list({ prefix: '', max: 10 }), []);
    assert.deepEqual(await texts.remove([{ name: 'a' }, { name: 'b', ifVersion: 'x' }]), [false, false]);
  });

  law('texts come back to the letter', async (t) => {
    const [texts, other] = textsOf(t);
    for (const [n, text] of oddTexts.entries()) assert.ok(await put(texts, `odd/${n}`, text));
    for (const [n, text] of oddTexts.entries()) assert.equal((await readOne(other, `odd/${n}`))?.text, text);
  });

  law('names are kept apart, however odd or long', async (t) => {
    const [texts, other] = textsOf(t);
    for (const [n, name] of oddNames.entries())
      assert.ok(await put(texts, name, `${n}`, { ifVersion: null }));
    for (const [n, name] of oddNames.entries())
      assert.equal((await readOne(other, name))?.text, `${n}`, JSON.stringify(name));
  });

  law('the longest text that is allowed is kept', async (t) => {
    const [texts] = textsOf(t);
    const bytes = Math.min(texts.mostBytes ?? 1_000_000, 1_000_000);
    assert.ok(bytes >= 300_000);
    for (const letter of ['x', '\u20ac', '"']) {
      const text = letter.repeat(Math.floor(bytes / Buffer.byteLength(letter)));
      assert.ok(await put(texts, 'long', text));
      assert.equal((await readOne(texts, 'long'))?.text, text);
    }
  });

  law('a new text is written where there is none, and changes nothing where there is one', async (t) => {
    const [texts, other] = textsOf(t);
    assert.ok(await put(texts, 'a', '1', { ifVersion: null }));
    const found = await readOne(texts, 'a');
    assert.equal(await put(other, 'a', '2', { ifVersion: null }), null);
    assert.deepEqual((await readOne(other, 'a'))?.version, found?.version);
    assert.equal((await readOne(other, 'a'))?.text, '1');
  });

  law('a text is written over the version that was read, and over no other', async (t) => {
    const [texts, other] = textsOf(t);
    await put(texts, 'a', '1');
    const first = (await readOne(other, 'a'))!;
    assert.ok(await put(other, 'a', '2', { ifVersion: first.version }));
    assert.equal(await put(texts, 'a', '3', { ifVersion: first.version }), null);
    assert.equal((await readOne(texts, 'a'))?.text, '2');
    assert.equal(await put(texts, 'b', '3', { ifVersion: first.version }), null);
    assert.equal(await readOne(texts, 'b'), null);
  });

  law('the version that a write answers is there, or nothing can be written over it', async (t) => {
    const [texts] = textsOf(t);
    let version = (await put(texts, 'a', '0', { ifVersion: null }))!;
    for (let n = 1; n < 4; n++) {
      const isThere = (await readOne(texts, 'a'))?.version === version;
      const next = await put(texts, 'a', `${n}`, { ifVersion: version });
      assert.equal(next !== null, isThere);
      version = next ?? (await readOne(texts, 'a'))!.version;
    }
  });

  law('without a version it is written over whatever is there', async (t) => {
    const [texts, other] = textsOf(t);
    assert.ok(await put(texts, 'a', '1'));
    const first = (await readOne(texts, 'a'))!;
    assert.ok(await put(other, 'a', '2'));
    assert.equal((await readOne(texts, 'a'))?.text, '2');
    assert.equal(await put(texts, 'a', '3', { ifVersion: first.version }), null);
  });

  law(
    'every write has a version that was never there, of the same text and after a removal too',
    async (t) => {
      const [texts] = textsOf(t);
      const seen = new Set<string>();
      for (let n = 0; n < 8; n++) {
        const found = await readOne(texts, 'a');
        await put(texts, 'a', '"same"', { ifVersion: found?.version ?? null });
        const { version } = (await readOne(texts, 'a'))!;
        assert.ok(version.length > 0 && !seen.has(version), 'expected a version that was never there');
        seen.add(version);
        if (n % 2 === 0) assert.deepEqual(await texts.remove([{ name: 'a', ifVersion: version }]), [true]);
      }
      for (const version of seen)
        if (version !== (await readOne(texts, 'a'))!.version)
          assert.equal(await put(texts, 'a', 'old', { ifVersion: version }), null);
    },
  );

  law('a text is removed by its version, and by no other', async (t) => {
    const [texts, other] = textsOf(t);
    await put(texts, 'a', '1');
    const first = (await readOne(texts, 'a'))!.version;
    await put(texts, 'a', '2');
    assert.deepEqual(await other.remove([{ name: 'a', ifVersion: first }]), [false]);
    const { version, text } = (await readOne(texts, 'a'))!;
    assert.equal(text, '2');
    assert.deepEqual(await other.remove([{ name: 'a', ifVersion: version }]), [true]);
    assert.deepEqual(await texts.remove([{ name: 'a', ifVersion: version }]), [false]);
    assert.equal(await readOne(texts, 'a'), null);
    assert.equal(await put(texts, 'a', '3', { ifVersion: version }), null);
  });

  law('without a version whatever is there is removed', async (t) => {
    const [texts, other] = textsOf(t);
    await put(texts, 'a', '1');
    await put(texts, 'ab', '1');
    assert.deepEqual(await other.remove([{ name: 'a' }]), [true]);
    assert.deepEqual(await texts.remove([{ name: 'a' }]), [false]);
    assert.equal((await readOne(texts, 'ab'))?.text, '1');
  });

  law(
    'a store with a clock says how long ago a text was written',
    async (t) => {
      const [texts, other] = textsOf(t);
      await put(texts, 'a', '1');
      await t.advance(minute);
      const agoMs = (await readOne(other, 'a'))?.agoMs;
      assert.ok(agoMs === undefined || (agoMs >= minute && agoMs < 2 * minute), `got ${agoMs}`);
      assert.equal((await other.list({ prefix: 'a', max: 1 }))[0]?.agoMs, agoMs);
      await put(texts, 'a', '2');
      assert.ok(((await readOne(other, 'a'))?.agoMs ?? 0) < minute);
    },
    { takesTime: true },
  );
}

function raceLaws(law: Law): void {
  law('of many that write over one version one does', async (t) => {
    const all = textsOf(t);
    await put(all[0], 'a', '0');
    const { version } = (await readOne(all[0], 'a'))!;
    const writes = Array.from({ length: 16 }, (_, n) =>
      put(all[n % 2]!, 'a', `${n}`, { ifVersion: version }),
    );
    const done = (await Promise.all(writes)).map((answer) => answer !== null);
    assert.equal(done.filter(Boolean).length, 1);
    assert.equal((await readOne(all[0], 'a'))?.text, `${done.indexOf(true)}`);
  });

  law('of many that write a new text one does', async (t) => {
    const all = textsOf(t);
    const writes = Array.from({ length: 16 }, (_, n) => put(all[n % 2]!, 'a', `${n}`, { ifVersion: null }));
    assert.equal((await Promise.all(writes)).filter((answer) => answer !== null).length, 1);
  });

  law('of many that remove a text one does', async (t) => {
    const all = textsOf(t);
    await put(all[0], 'a', '0');
    const { version } = (await readOne(all[0], 'a'))!;
    const removals = Array.from({ length: 16 }, (_, n) =>
      all[n % 2]!.remove([{ name: 'a', ...(n % 3 === 0 && { ifVersion: version }) }]),
    );
    assert.equal((await Promise.all(removals)).flat().filter(Boolean).length, 1);
  });

  law('of many who change one text at once none is lost', async (t) => {
    const all = textsOf(t);
    async function add(texts: TextStore): Promise<void> {
      for (let tries = 0; tries < 500; tries++) {
        const found = await readOne(texts, 'a');
        const text = `${Number(found?.text ?? 0) + 1}`;
        if ((await put(texts, 'a', text, { ifVersion: found?.version ?? null })) !== null) return;
      }
      assert.fail('lost 500 races');
    }
    await Promise.all(Array.from({ length: 20 }, (_, n) => add(all[n % 2]!)));
    assert.equal((await readOne(all[0], 'a'))?.text, '20');
  });

  law('two that write the same texts in opposite orders both end', async (t) => {
    const all = textsOf(t);
    const names = Array.from({ length: 60 }, (_, n) => `race/${n}`);
    for (let round = 0; round < 3; round++) {
      const orders = [names, names.toReversed(), names, names.toReversed()];
      await Promise.all(orders.map((order, n) => all[n % 2]!.write(named(order, `"${n}"`))));
      const found = await all[0].read(names);
      assert.ok(found.every((text) => /^"[0-3]"$/.test(text!.text)));
    }
  });
}

function severalLaws(law: Law): void {
  law('calls without a text answer nothing', async (t) => {
    const [texts] = textsOf(t);
    assert.deepEqual(await texts.read([]), []);
    assert.deepEqual(await texts.write([]), []);
    assert.deepEqual(await texts.remove([]), []);
  });

  law('several are read in the order of the call, with null for those that are not there', async (t) => {
    const [texts] = textsOf(t);
    await texts.write([...named(['b'], '"b"'), ...named(['a'], '"a"'), ...named(['c'], '"c"')]);
    const found = await texts.read(['c', 'none', 'a', 'nor this', 'b']);
    assert.deepEqual(
      found.map((text) => text?.text ?? null),
      ['"c"', null, '"a"', null, '"b"'],
    );
  });

  law('each write of a call goes or fails by itself', async (t) => {
    const [texts] = textsOf(t);
    await texts.write(named(['there', 'known', 'any'], '"old"'));
    const [known] = await texts.read(['known']);
    const answers = await texts.write([
      { name: 'there', text: '"new"', ifVersion: null, endsAt: null },
      { name: 'known', text: '"new"', ifVersion: known!.version, endsAt: null },
      { name: 'missing', text: '"new"', ifVersion: known!.version, endsAt: null },
      { name: 'any', text: '"new"', endsAt: null },
      { name: 'fresh', text: '"new"', ifVersion: null, endsAt: null },
    ]);
    assert.deepEqual(
      answers.map((version) => version !== null),
      [false, true, false, true, true],
    );
    const found = await texts.read(['there', 'known', 'missing', 'any', 'fresh']);
    assert.deepEqual(
      found.map((text) => text?.text ?? null),
      ['"old"', '"new"', null, '"new"', '"new"'],
    );
  });

  law('each removal of a call goes or fails by itself', async (t) => {
    const [texts] = textsOf(t);
    await texts.write(named(['a', 'b', 'c', 'd']));
    const [a, b] = await texts.read(['a', 'b']);
    const answers = await texts.remove([
      { name: 'a', ifVersion: a!.version },
      { name: 'none' },
      { name: 'c', ifVersion: b!.version },
      { name: 'd' },
    ]);
    assert.deepEqual(answers, [true, false, false, true]);
    assert.deepEqual(namesOf(await texts.list({ prefix: '', max: 10 })), ['b', 'c']);
  });

  law('a thousand are written, read and removed in a call', async (t) => {
    const [texts, other] = textsOf(t);
    const names = Array.from({ length: 1_000 }, (_, n) => `many/${String(n).padStart(4, '0')}`);
    for (const text of ['"1"', '"2"']) {
      const answers = await texts.write(named(names, text));
      assert.ok(answers.every((version) => version !== null));
      assert.ok((await other.read(names)).every((found) => found?.text === text));
    }
    assert.deepEqual(namesOf(await texts.list({ prefix: 'many/', max: 2_000 })), names);
    const removals = names.map((name) => ({ name }));
    const counts = await Promise.all([texts, other].map((one) => one.remove(removals)));
    assert.equal(counts.flat().filter(Boolean).length, names.length, 'each is removed by one');
    assert.deepEqual(await texts.list({ prefix: 'many/', max: 2_000 }), []);
  });
}
