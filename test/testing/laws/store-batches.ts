import assert from 'node:assert/strict';
import type { BatchState, BatchStore, ChildEnd } from '../../../core/contract/derived/batches.ts';
import { day, type Kit, minute, second } from './kit.ts';
import type { Law } from './law.ts';

/** The store of every opening of the storage. */
function batchesOf(t: Kit): BatchStore[] {
  return t.openings.map(({ name, stores }) => {
    assert.ok(stores?.batches, `the stores of "${name}" have no batches and declare no lack of them`);
    return stores.batches;
  });
}

let count = 0;
/** A store may outlive one law. */
const newId = (): string => `b-${process.pid}-${Date.now().toString(36)}-${++count}`;

const ok = (batch: string, ...numbers: number[]): ChildEnd[] =>
  numbers.map((number) => ({ batch, number, failed: false }));
const bad = (batch: string, ...numbers: number[]): ChildEnd[] =>
  numbers.map((number) => ({ batch, number, failed: true }));
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

async function sealed(store: BatchStore, total: number, id = newId()): Promise<string> {
  await store.open({ id, plan: 'plan', sender: 'anna', planned: total });
  await store.sent(id, 'anna', { sent: total, planned: total, sealed: true });
  return id;
}

async function counts(store: BatchStore, id: string): Promise<[succeeded: number, failed: number]> {
  const { succeeded, failed } = (await store.get(id))!;
  return [succeeded, failed];
}

const isComplete = async (store: BatchStore, id: string): Promise<boolean> =>
  (await store.get(id))!.completedAt !== null;

export function batchLaws(law: Law): void {
  law('a new batch has nothing sent, and stays as it was when it is opened again', async (t) => {
    const stores = batchesOf(t);
    const id = newId();
    const at = t.now();
    const state = await stores[0]!.open({ id, plan: '{"é":"\\u0001\'"}', sender: 'anna', planned: 10 });
    const expected: BatchState = {
      ...{ id, plan: '{"é":"\\u0001\'"}', createdAt: at, changedAt: at, sent: 0, planned: 10 },
      ...{ sealed: false, cancelledAt: null, succeeded: 0, failed: 0, round: 1 },
      ...{ completedAt: null, called: false },
    };
    assert.deepEqual(state, expected);
    for (const store of stores) assert.deepEqual(await store.get(id), expected);
    const again = await stores.at(-1)!.open({ id, plan: 'another', sender: 'ben', planned: 5 });
    assert.deepEqual(again, expected);
    assert.equal(await stores[0]!.get(newId()), null);
  });

  law('only its last sender says what was sent', async (t) => {
    const [store] = batchesOf(t);
    const id = newId();
    const some = { sent: 3, planned: 6, sealed: false };
    assert.equal(await store!.sent(id, 'anna', some), null);
    await store!.open({ id, plan: '', sender: 'anna', planned: 3 });
    assert.equal((await store!.sent(id, 'anna', some))?.sent, 3);
    const resumed = await store!.open({ id, plan: '', sender: 'ben', planned: 0 });
    assert.deepEqual([resumed.sent, resumed.planned], [3, 6]);
    assert.equal(await store!.sent(id, 'anna', { sent: 6, planned: 6, sealed: true }), null);
    assert.equal((await store!.sent(id, 'ben', { sent: 5, planned: 5, sealed: true }))?.sealed, true);
    assert.equal(await store!.sent(id, 'ben', { sent: 9, planned: 9, sealed: true }), null);
    const late = await store!.open({ id, plan: '', sender: 'carl', planned: 50 });
    assert.deepEqual([late.sent, late.planned, late.sealed], [5, 5, true]);
  });

  law('a child is counted once, however often and by whomever its end is marked', async (t) => {
    const stores = batchesOf(t);
    const id = await sealed(stores[0]!, 5);
    for (const store of [...stores, ...stores]) await store.ended([...ok(id, 0, 1), ...ok(id, 1)]);
    await Promise.all(range(0, 20).map((i) => stores[i % stores.length]!.ended(bad(id, 3))));
    for (const store of stores) assert.deepEqual(await counts(store, id), [2, 1]);
    assert.deepEqual(await stores[0]!.unended(id, 0, 10), [2, 4]);
    assert.deepEqual(await stores[0]!.failed(id, 0, 10), [3]);
  });

  law('a success stands, and corrects a failure', async (t) => {
    const [store] = batchesOf(t);
    const id = await sealed(store!, 4);
    await store!.ended([...ok(id, 0), ...bad(id, 1), ...bad(id, 2), ...ok(id, 2)]);
    await store!.ended([...bad(id, 0), ...ok(id, 1)]);
    assert.deepEqual(await counts(store!, id), [3, 0]);
    assert.deepEqual(await store!.failed(id, 0, 10), []);
  });

  law('it is complete when it is sealed and the last child has ended, and names it to one', async (t) => {
    const [store] = batchesOf(t);
    const id = newId();
    await store!.open({ id, plan: '', sender: 'anna', planned: 3 });
    assert.deepEqual(await store!.ended(ok(id, 0, 1, 2)), []);
    assert.equal(await isComplete(store!, id), false);
    await store!.sent(id, 'anna', { sent: 3, planned: 4, sealed: false });
    assert.equal(await isComplete(store!, id), false);
    await t.advance(second);
    await store!.sent(id, 'anna', { sent: 4, planned: 4, sealed: true });
    assert.equal(await isComplete(store!, id), false);
    await t.advance(second);
    assert.deepEqual(await store!.ended(bad(id, 3)), [id]);
    const state = (await store!.get(id))!;
    assert.deepEqual([state.completedAt, state.called], [t.now(), false]);
    assert.deepEqual(await store!.ended([...ok(id, 3), ...ok(id, 0)]), []);
    assert.deepEqual(await counts(store!, id), [3, 1]);
    const empty = await sealed(store!, 0);
    assert.equal(await isComplete(store!, empty), true);
    const early = newId();
    await store!.open({ id: early, plan: '', sender: 'anna', planned: 1 });
    await store!.ended(ok(early, 0));
    const last = await store!.sent(early, 'anna', { sent: 1, planned: 1, sealed: true });
    assert.notEqual(last?.completedAt, null);
  });

  law('numbers that nobody has planned, and batches that nobody knows, are ignored', async (t) => {
    const [store] = batchesOf(t);
    const id = newId();
    await store!.open({ id, plan: '', sender: 'anna', planned: 2 });
    assert.deepEqual(await store!.ended([...ok(id, 2, 70_000), ...ok(newId(), 0), ...ok(id, 1)]), []);
    assert.deepEqual(await counts(store!, id), [1, 0]);
    assert.deepEqual(await store!.unended(id, 0, 10), [0]);
    assert.deepEqual(await store!.unended(newId(), 0, 10), []);
    assert.deepEqual(await store!.ended([]), []);
  });

  law('many children of several batches end in one call', async (t) => {
    const stores = batchesOf(t);
    const [a, b] = [await sealed(stores[0]!, 10_000), await sealed(stores[0]!, 300)];
    const ends = [
      ...ok(b, ...range(0, 299)),
      ...ok(a, ...range(0, 9_000)),
      ...bad(a, ...range(9_000, 9_999)),
    ];
    assert.deepEqual(await stores[0]!.ended(ends), []);
    assert.deepEqual(await stores.at(-1)!.unended(a, 0, 10), [9_999]);
    assert.deepEqual(await stores.at(-1)!.failed(a, 9_100, 3), [9_100, 9_101, 9_102]);
    assert.deepEqual(
      (await stores[0]!.ended([...ok(a, 9_999), ...ok(b, 299)])).toSorted(),
      [a, b].toSorted(),
    );
    assert.deepEqual(await counts(stores[0]!, a), [9_001, 999]);
  });

  law('of calls at the same time none is lost', async (t) => {
    const stores = batchesOf(t);
    const id = await sealed(stores[0]!, 400);
    const named = await Promise.all(
      range(0, 40).map((i) => stores[i % stores.length]!.ended(ok(id, ...range(i * 10, i * 10 + 10)))),
    );
    assert.ok(named.flat().includes(id));
    assert.deepEqual(await counts(stores[0]!, id), [400, 0]);
    assert.equal(await isComplete(stores[0]!, id), true);
  });

  law('numbers are found in order, from one on', async (t) => {
    const [store] = batchesOf(t);
    const id = await sealed(store!, 140_000);
    await store!.ended(ok(id, ...range(3, 66_000)));
    await store!.ended(bad(id, 66_001, 139_999));
    assert.deepEqual(await store!.unended(id, 0, 5), [0, 1, 2, 66_000, 66_002]);
    assert.deepEqual(await store!.unended(id, 1, 2), [1, 2]);
    assert.deepEqual(await store!.unended(id, 139_998, 9), [139_998]);
    assert.deepEqual(await store!.unended(id, 140_000, 9), []);
    assert.deepEqual(await store!.failed(id, 0, 9), [66_001, 139_999]);
  });

  law('a cancel seals what may have been sent', async (t) => {
    const [store] = batchesOf(t);
    const id = newId();
    await store!.open({ id, plan: '', sender: 'anna', planned: 0 });
    await store!.sent(id, 'anna', { sent: 2, planned: 4, sealed: false });
    const at = t.now();
    const state = (await store!.cancel(id))!;
    assert.deepEqual([state.sent, state.sealed, state.cancelledAt], [4, true, at]);
    assert.equal(await store!.sent(id, 'anna', { sent: 4, planned: 6, sealed: false }), null);
    await t.advance(second);
    assert.equal((await store!.cancel(id))?.cancelledAt, at);
    assert.deepEqual(await store!.ended([...ok(id, 0), ...bad(id, 1, 2, 3)]), [id]);
    assert.equal(await store!.cancel(id), null);
    assert.equal(await store!.cancel(newId()), null);
  });

  law('children that have failed are taken back, and a round begins', async (t) => {
    const [store] = batchesOf(t);
    const id = await sealed(store!, 6);
    await store!.ended([...ok(id, 0, 1), ...bad(id, 2, 3, 4)]);
    assert.equal(await store!.reopen(id, [4]), 1);
    assert.equal((await store!.get(id))?.round, 1);
    await store!.ended([...bad(id, 4), ...ok(id, 5)]);
    await store!.called(id, 1);
    assert.equal(await store!.reopen(id, [0, 2, 3, 77]), 2);
    const state = (await store!.get(id))!;
    assert.deepEqual([state.succeeded, state.failed], [3, 1]);
    assert.deepEqual([state.round, state.completedAt, state.called], [2, null, false]);
    assert.equal(await store!.reopen(id, [0]), 0);
    assert.equal(await store!.reopen(newId(), [0]), 0);
    await store!.called(id, 1);
    assert.deepEqual(await store!.unended(id, 0, 9), [2, 3]);
    assert.deepEqual(await store!.ended(ok(id, 2, 3)), [id]);
    assert.equal((await store!.get(id))?.called, false);
    await store!.called(id, 1);
    assert.equal((await store!.get(id))?.called, false);
    await store!.called(id, 2);
    assert.equal((await store!.get(id))?.called, true);
  });

  law('who is complete and not called, or silent, is to be looked at, by one at a time', async (t) => {
    const stores = batchesOf(t);
    const [store] = stores;
    const look = async (from = store!) => {
      const found = await from.toCheck({ quietMs: minute, everyMs: minute, max: 1_000 });
      return found.map(({ id }) => id).filter((id) => mine.includes(id));
    };
    const mine: string[] = [];
    const [complete, called, silent, busy] = [newId(), newId(), newId(), newId()];
    mine.push(complete, called, silent, busy);
    for (const id of mine) await sealed(store!, 2, id);
    await store!.ended([...ok(complete, 0, 1), ...ok(called, 0, 1)]);
    await store!.called(called, 1);
    assert.deepEqual(await look(), [], 'somebody is about to call it');
    await t.advance(50 * second);
    await store!.ended(ok(busy, 0));
    await t.advance(20 * second);
    assert.deepEqual((await look()).toSorted(), [complete, silent].toSorted());
    for (const each of stores) assert.deepEqual(await look(each), []);
    await t.advance(2 * minute);
    assert.deepEqual((await look(stores.at(-1)!)).toSorted(), [busy, complete, silent].toSorted());
  });

  law('those that have waited for longest are named first, however many others are open', async (t) => {
    const [store] = batchesOf(t);
    const ids: string[] = [];
    const look = async (max = 2) => {
      const found = await store!.toCheck({ quietMs: minute, everyMs: minute, max });
      return found
        .map(({ id }) => id)
        .filter((id) => ids.includes(id))
        .toSorted();
    };
    await look(1_000); // those of other laws come later than these
    // The order of their ids is another.
    for (const id of Array.from({ length: 5 }, newId).reverse()) {
      ids.push(await sealed(store!, 1, id));
      await t.advance(second);
    }
    await t.advance(2 * minute);
    const turns = [ids.slice(0, 2), ids.slice(2, 4), [ids[4]!]].map((some) => some.toSorted());
    for (const turn of turns) assert.deepEqual(await look(), turn);
    // Unfinished batches do not hide others.
    for (const id of ids) await store!.ended(ok(id, 0));
    for (const id of ids.splice(0)) await store!.called(id, 1);
    for (let i = 0; i < 3; i++) ids.push(await sealed(store!, 2));
    await t.advance(second);
    const silent = await sealed(store!, 1);
    await t.advance(2 * minute);
    for (const id of ids) await store!.ended(ok(id, 0));
    ids.push(silent);
    assert.deepEqual(await look(), [silent]);
  });

  law('lists begin with the newest', async (t) => {
    const [store] = batchesOf(t);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.unshift(await sealed(store!, i));
      await t.advance(second);
    }
    const listed = (await store!.list({ max: 3 })).map(({ id }) => id);
    assert.deepEqual(listed, ids.slice(0, 3));
    const rest = (await store!.list({ after: listed.at(-1)!, max: 2 })).map(({ id }) => id);
    assert.deepEqual(rest, ids.slice(3));
  });

  law('it is kept for a week after it was called, and forgotten some time later', async (t) => {
    const [store] = batchesOf(t);
    const purge = async () => {
      while ((await t.stores.records.purge()) > 0);
    };
    const [called, open] = [await sealed(store!, 1), await sealed(store!, 1)];
    await store!.ended(ok(called, 0));
    await store!.called(called, 1);
    await t.advance(6 * day);
    await purge();
    assert.ok(await store!.get(called));
    await t.advance(2 * day);
    await purge();
    assert.ok(await store!.get(open));
    await t.advance(90 * day);
    await purge();
    if (!t.lacks('purges of numbers')) assert.equal(await store!.get(called), null);
  });
}
