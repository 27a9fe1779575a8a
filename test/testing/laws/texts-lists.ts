import assert from 'node:assert/strict';
import type { TextRange } from '../../../core/contract/texts.ts';
import { day, hour, type Kit } from './kit.ts';
import type { Law } from './law.ts';
import { listAll, named, namesOf, put, textsOf } from './texts-kit.ts';

export function listTextLaws(law: Law): void {
  law('names are listed by their beginning, in the order of their characters', async (t) => {
    const [texts, other] = textsOf(t);
    const names = [
      'k',
      'k!',
      'k-1',
      'k.1',
      'k/',
      'k/0',
      'k/00',
      'k/A',
      'k/Z',
      'k/_',
      'k/a',
      'k/~',
      'kA',
      'ké',
      'l',
      'j~',
    ];
    await texts.write(named(names.toReversed()));
    for (const prefix of ['', 'k', 'k/', 'k/0', 'ké', 'l', 'none'])
      assert.deepEqual(
        namesOf(await other.list({ prefix, max: 100 })),
        names.filter((name) => name.startsWith(prefix)).sort(),
        `prefix "${prefix}"`,
      );
  });

  law('a beginning is no pattern', async (t) => {
    const [texts] = textsOf(t);
    const names = ['a%b', 'a_b', 'a*b', 'a[b]', 'a.b', 'axb', "a'b", 'a(b'];
    await texts.write(named(names));
    for (const name of names)
      assert.deepEqual(namesOf(await texts.list({ prefix: name.slice(0, 2), max: 10 })), [name]);
  });

  law('a list has a first name, a last one, and an end', async (t) => {
    const [texts] = textsOf(t);
    const names = Array.from({ length: 9 }, (_, n) => `n/${n}`);
    await texts.write(named([...names, 'm', 'o', 'n', 'n0']));
    const list = async (range: Partial<TextRange>) =>
      namesOf(await texts.list({ prefix: 'n/', max: 100, ...range }))
        .map((name) => name.slice(2))
        .join('');
    assert.equal(await list({}), '012345678');
    assert.equal(await list({ max: 3 }), '012');
    assert.equal(await list({ after: 'n/4' }), '5678');
    assert.equal(await list({ after: 'n/4', max: 2 }), '56');
    assert.equal(await list({ after: 'n/44' }), '5678');
    assert.equal(await list({ before: 'n/4' }), '0123');
    assert.equal(await list({ before: 'n/44' }), '01234');
    assert.equal(await list({ after: 'n/1', before: 'n/4' }), '23');
    assert.equal(await list({ after: 'n/4', before: 'n/1' }), '');
    assert.equal(await list({ after: 'a' }), '012345678');
    assert.equal(await list({ after: 'z' }), '');
    assert.equal(await list({ before: 'a' }), '');
    assert.equal(await list({ before: 'z' }), '012345678');
  });

  law('a list has the texts and versions that a read has', async (t) => {
    const [texts] = textsOf(t);
    await texts.write(named(['v/a', 'v/b'], '"1"'));
    await put(texts, 'v/b', '"2"');
    const listed = await texts.list({ prefix: 'v/', max: 10 });
    const found = await texts.read(namesOf(listed));
    assert.deepEqual(
      listed.map(({ text, version }) => ({ text, version })),
      found.map((one) => ({ text: one!.text, version: one!.version })),
    );
    assert.ok(await put(texts, 'v/b', '"3"', { ifVersion: listed[1]!.version }));
  });

  law('of names with a text in them none is left out', async (t) => {
    const [texts] = textsOf(t);
    const names = [
      '1 mail send',
      '1 pdf send',
      '2 mail print',
      '2 mail send',
      '3 mail_send %',
      '4 MAIL send',
    ];
    await texts.write(named(names.map((name) => `c/${name}`)));
    for (const containing of [' mail ', 'send', '%', '_', 'none']) {
      const found = namesOf(await listAll(texts, { prefix: 'c/', containing, max: 2 }));
      const wanted = names.map((name) => `c/${name}`).filter((name) => name.includes(containing));
      assert.deepEqual(
        found.filter((name) => name.includes(containing)),
        wanted,
        containing,
      );
    }
  });

  law('pages have each text once that is there all the time, whatever comes and goes', async (t) => {
    const [texts, other] = textsOf(t);
    const names = Array.from({ length: 30 }, (_, n) => `p/${String(n * 2).padStart(2, '0')}`);
    await texts.write(named(names));
    let n = 0;
    const found = await listAll(texts, { prefix: 'p/', max: 4 }, async () => {
      await put(other, names[n]!, `"changed ${n}"`);
      await put(other, `p/${String(n * 8 + 1).padStart(2, '0')}`, '"new"');
      n++;
    });
    const all = namesOf(found);
    assert.deepEqual(all, [...new Set(all)].sort());
    assert.deepEqual(
      all.filter((name) => names.includes(name)),
      names,
    );
  });

  law('whatever is written and removed in turn, a list is as that of a plain map', async (t) => {
    const all = textsOf(t);
    const kept = new Map<string, string>();
    let seed = 20_260_131;
    const below = (most: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * most);
    };
    const nameAt = () => `${'abc'[below(3)]}/${'xyz'.slice(0, below(4))}${below(30)}`;
    for (let turn = 0; turn < 60; turn++) {
      const texts = all[below(2)]!;
      const written = [...new Set(Array.from({ length: below(8) }, nameAt))];
      await texts.write(named(written, `"${turn}"`));
      for (const name of written) kept.set(name, `"${turn}"`);
      const removed = [...new Set(Array.from({ length: below(5) }, nameAt))];
      const answers = await texts.remove(removed.map((name) => ({ name })));
      assert.deepEqual(
        answers,
        removed.map((name) => kept.delete(name)),
      );
      const range = {
        prefix: ['', 'a/', 'b/x', 'c'][below(4)]!,
        after: nameAt(),
        before: nameAt(),
        max: 1 + below(9),
      };
      const wanted = [...kept.keys()]
        .filter((name) => name.startsWith(range.prefix) && name > range.after && name < range.before)
        .sort()
        .slice(0, range.max);
      const found = await all[below(2)]!.list(range);
      assert.deepEqual(
        found.map(({ name, text }) => [name, text]),
        wanted.map((name) => [name, kept.get(name)]),
      );
    }
  });
}

export function endTextLaws(law: Law): void {
  const purgeAll = async (t: Kit): Promise<void> => {
    for (let gone = 1; gone > 0; ) gone = await t.stores.records.purge();
  };

  law(
    'a text is there until its end, and one without an end stays',
    async (t) => {
      const [texts] = textsOf(t);
      await put(texts, 'a', '1', { endsAt: t.now() + 2 * hour });
      await put(texts, 'b', '1', { endsAt: t.now() + 2 * hour });
      await put(texts, 'kept', '1');
      await t.advance(hour);
      await purgeAll(t);
      assert.equal((await texts.read(['a', 'b', 'kept'])).filter(Boolean).length, 3);
      await put(texts, 'b', '2', { endsAt: null });
      await t.advance(300 * day);
      await purgeAll(t);
      assert.deepEqual(
        (await texts.read(['b', 'kept'])).map((found) => found?.text),
        ['2', '1'],
      );
    },
    { takesTime: true },
  );

  law(
    'a purge of the records removes texts past their end, and no others',
    async (t) => {
      const [texts, other] = textsOf(t);
      if (texts.expires) return;
      const names = Array.from({ length: 40 }, (_, n) => `e/${String(n).padStart(2, '0')}`);
      await texts.write(names.map((name, n) => ({ name, text: '1', endsAt: t.now() + (n + 1) * hour })));
      await other.write([{ name: names[0]!, text: '2', endsAt: t.now() + 100 * hour }]);
      await t.advance(20 * hour);
      await purgeAll(t);
      assert.deepEqual(namesOf(await texts.list({ prefix: '', max: 100 })), [names[0], ...names.slice(20)]);
      assert.ok(await put(texts, names[5]!, '3', { ifVersion: null }), 'its name is free again');
    },
    { takesTime: true },
  );
}
