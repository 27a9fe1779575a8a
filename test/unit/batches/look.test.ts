/** Looking at batches: each quiet one in its turn, and those that the release before has listed. */

import { expect, it } from 'vitest';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { items, shop } from './shop.ts';

it('a batch whose children were cancelled ends within two minutes, behind any number of quiet ones', async () => {
  const { app, client, clock, drain, row, calls, ends } = shop();
  const options = { delayMs: 30 * 86_400_000 };
  for (let i = 0; i < 120; i++) await client.batch('quiet', items(1), { id: `a${i}`, job: row, options });
  await client.batch('mine', items(2), { id: 'z', job: row, options, ...ends });
  for (const number of [0, 1]) await client.stores.records.cancel(`batch.z.${number}`);
  clock.advance(61_000);
  expect(await lookAtBatches(client)).toBe(121);
  await drain();
  expect(calls.map(([name, { batchId }]) => [name, batchId])).toEqual([
    ['failed', 'z'],
    ['over', 'z'],
  ]);
  expect(app.jobs.size).toBe(4);
});

it('one look costs some thousand children at most, and the next one goes on with the others', async () => {
  const { client, clock, row } = shop();
  const options = { delayMs: 30 * 86_400_000 };
  for (let i = 0; i < 45; i++) await client.batch('quiet', items(1_000), { id: `a${i}`, job: row, options });
  clock.advance(61_000);
  expect(await lookAtBatches(client)).toBe(20);
  expect(await lookAtBatches(client)).toBe(20);
  expect(await lookAtBatches(client)).toBe(5);
  expect(await lookAtBatches(client)).toBe(0);
});

/** As the stores of the clouds have it. */
function createTable() {
  const rows = new Map<string, { text: string; version: string }>();
  let writes = 0;
  return {
    rows,
    read: async (name: string) => rows.get(name) ?? null,
    async write(name: string, text: string, over: string | null | undefined) {
      if (over !== undefined && (rows.get(name)?.version ?? null) !== over) return null;
      rows.set(name, { text, version: String(++writes) });
      return String(writes);
    },
    remove: async (name: string, version?: string) =>
      (version === undefined || rows.get(name)?.version === version) && rows.delete(name),
    list: async (prefix: string, after: string, max: number) =>
      [...rows.keys()]
        .filter((name) => name.startsWith(prefix) && name > after)
        .sort()
        .slice(0, max)
        .map((name) => ({ name, ...rows.get(name)! })),
  };
}

it('those that the release before has listed by their ids are found, and listed by their times', async () => {
  const clock = createVirtualClock();
  const table = createTable();
  const store = batchStore(table, clock);
  const ids = ['z', '-', '0000000000000000.x', 'b', 'gone'];
  for (const id of ids.slice(0, 4)) {
    await store.open({ id, plan: 'plan', sender: 'anna', planned: 1 });
    const { listedAt: _, ...head } = JSON.parse(table.rows.get(`b${id}`)!.text);
    table.rows.set(`b${id}`, { text: JSON.stringify(head), version: 'old' });
  }
  for (const name of table.rows.keys()) if (name.startsWith('o')) table.rows.delete(name);
  for (const id of ids) table.rows.set(`o${id}`, { text: id, version: 'old' });
  const look = async () => {
    const found = await store.toCheck({ quietMs: 60_000, everyMs: 60_000, max: 20 });
    return found.map(({ id }) => id).toSorted();
  };
  clock.advance(61_000);
  expect(await look()).toEqual(ids.slice(0, 4).toSorted());
  expect(await look()).toEqual([]);
  clock.advance(61_000);
  expect(await look()).toEqual(ids.slice(0, 4).toSorted());
  for (const id of ids.slice(0, 4)) {
    await store.sent(id, 'anna', { sent: 0, planned: 0, sealed: true });
    await store.called(id, 1);
  }
  clock.advance(2 * 3_600_000);
  expect(await look()).toEqual([]);
  expect([...table.rows.keys()].filter((name) => name.startsWith('o'))).toEqual([]);
});
