/** Schedules that were made at run time: rows by name and by when a tick has to look at them. */

import assert from 'node:assert/strict';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/derived/schedules.ts';
import type { Kit } from './kit.ts';
import type { Law } from './law.ts';

const storeOf = (t: Kit, opening: 'own' | 'other' = 'own'): ScheduleStore => {
  const stores = opening === 'own' ? t.stores : t.openings.at(-1)!.stores!;
  assert.ok(stores.schedules, 'the stores have schedules');
  return stores.schedules;
};

async function put(
  store: ScheduleStore,
  name: string,
  nextAt: number | null,
  text = `{"n":"${name}"}`,
): Promise<StoredSchedule> {
  const before = await store.get(name);
  assert.equal(await store.write({ name, nextAt, text }, before?.version ?? null), true);
  const row = await store.get(name);
  assert.ok(row);
  return row;
}

const namesOf = (rows: readonly StoredSchedule[]): string[] => rows.map(({ name }) => name);

export function scheduleLaws(law: Law): void {
  law('a schedule comes back as it was written', async (t) => {
    const store = storeOf(t);
    assert.equal(await store.get('a'), null);
    for (const nextAt of [t.now(), null, 0, 4_102_444_800_000]) {
      const text = JSON.stringify({ payload: `ü "\\ \n\t ${nextAt} 𝄞`, long: 'x'.repeat(60_000) });
      const { version, ...row } = await put(store, 'a.b-c_1', nextAt, text);
      assert.deepEqual(row, { name: 'a.b-c_1', nextAt, text });
      assert.ok(version.length > 0);
      assert.deepEqual(await storeOf(t, 'other').get('a.b-c_1'), { version, ...row });
    }
  });

  law('a write goes over the version that was read, and over no other', async (t) => {
    const store = storeOf(t);
    const first = await put(store, 'a', 5);
    assert.equal(await store.write({ name: 'a', nextAt: 6, text: 'x' }, null), false);
    const second = await put(store, 'a', 7);
    assert.notEqual(second.version, first.version);
    assert.equal(await store.write({ name: 'a', nextAt: 8, text: 'x' }, first.version), false);
    assert.deepEqual(await store.get('a'), second);
    assert.equal(await store.write({ name: 'b', nextAt: 8, text: 'x' }, first.version), false);
    assert.equal(await store.get('b'), null);
    assert.equal(await store.remove('a'), true);
    assert.equal(await store.write({ name: 'a', nextAt: 8, text: 'x' }, second.version), false);
    assert.equal(await store.get('a'), null);
  });

  law('the same text twice has two versions', async (t) => {
    const store = storeOf(t);
    const one = await put(store, 'a', 5, 'same');
    const two = await put(store, 'a', 5, 'same');
    assert.notEqual(one.version, two.version);
  });

  law('of many that write over one version, one does', async (t) => {
    const row = await put(storeOf(t), 'a', 5);
    const writes = Array.from({ length: 12 }, (_, i) =>
      storeOf(t, i % 2 ? 'own' : 'other').write({ name: 'a', nextAt: i, text: `${i}` }, row.version),
    );
    assert.equal((await Promise.all(writes)).filter(Boolean).length, 1);
    const news = Array.from({ length: 12 }, (_, i) =>
      storeOf(t, i % 2 ? 'own' : 'other').write({ name: 'new', nextAt: i, text: `${i}` }, null),
    );
    assert.equal((await Promise.all(news)).filter(Boolean).length, 1);
  });

  law('those that are due come, the earliest first', async (t) => {
    const store = storeOf(t);
    const now = t.now();
    await put(store, 'late', now - 1_000);
    await put(store, 'now', now);
    await put(store, 'soon', now + 1);
    await put(store, 'never', null);
    await put(store, 'first', now - 86_400_000);
    assert.deepEqual(namesOf(await store.due(now, 10)), ['first', 'late', 'now']);
    assert.deepEqual(namesOf(await store.due(now, 2)), ['first', 'late']);
    assert.deepEqual(namesOf(await store.due(now - 86_400_001, 10)), []);
    assert.deepEqual(namesOf(await storeOf(t, 'other').due(now + 1, 10)), ['first', 'late', 'now', 'soon']);
    const [first] = await store.due(now, 1);
    assert.deepEqual(first, await store.get('first'));
  });

  law(
    'one that has moved is due at its new time, and one that is paused or removed not at all',
    async (t) => {
      const store = storeOf(t);
      const now = t.now();
      for (const name of ['a', 'b', 'c', 'd']) await put(store, name, now);
      await put(store, 'a', now + 5_000);
      await put(store, 'b', null);
      assert.equal(await store.remove('c'), true);
      assert.equal(await store.remove('c'), false);
      assert.deepEqual(namesOf(await store.due(now, 10)), ['d']);
      assert.deepEqual(namesOf(await store.due(now + 5_000, 10)), ['d', 'a']);
      assert.equal(await store.get('c'), null);
      await put(store, 'b', now - 1);
      assert.deepEqual(namesOf(await store.due(now, 10)), ['b', 'd']);
    },
  );

  law('pages come by name, each schedule once, whatever comes and goes', async (t) => {
    const store = storeOf(t);
    const names = ['A', 'B-1', 'B.1', 'a', 'b', 'b_1', 'z', '0', '00', '_'];
    for (const name of names) await put(store, name, t.now());
    const sorted = names.toSorted();
    assert.deepEqual(namesOf(await store.list({ max: 100 })), sorted);
    const paged: string[] = [];
    for (let after = ''; ; ) {
      const page = await store.list({ after, max: 3 });
      if (page.length === 0) break;
      assert.ok(page.length <= 3);
      paged.push(...namesOf(page));
      after = page.at(-1)!.name;
      await put(store, paged[0]!, null);
    }
    assert.deepEqual(paged, sorted);
    assert.deepEqual(
      namesOf(await store.list({ after: 'b', max: 100 })),
      sorted.filter((name) => name > 'b'),
    );
    assert.deepEqual(await store.list({ after: 'zz', max: 100 }), []);
  });

  law('many of them are one list', async (t) => {
    const store = storeOf(t);
    const names = Array.from({ length: 300 }, (_, i) => `s-${String(i).padStart(5, '0')}`);
    for (let i = 0; i < names.length; i += 40)
      await Promise.all(
        names
          .slice(i, i + 40)
          .map((name) => store.write({ name, nextAt: t.now() + 1_000, text: '{}' }, null)),
      );
    assert.deepEqual(namesOf(await store.list({ max: 2_000 })), names);
    assert.deepEqual(await store.due(t.now(), 2_000), []);
    assert.equal((await store.due(t.now() + 1_000, 120)).length, 120);
  });
}
