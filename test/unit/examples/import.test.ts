/** The example's import of a CSV file: a batch of chunks and a report at its end. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeOrdersCsv } from '../../../examples/demo/samples.ts';
import { openTestShop } from './shop.ts';

let shop: ReturnType<typeof openTestShop>;
beforeEach(() => {
  shop = openTestShop();
});
afterEach(() => shop.close());

const order = { importId: 'may', file: 'orders.csv', chunkRows: 10 };
const path = () => join(shop.folder, order.file);
const report = () => JSON.parse(readFileSync(join(shop.folder, 'reports/import-may.json'), 'utf8'));

it('imports each row once, and reports at the end which were refused and why', async () => {
  await writeOrdersCsv(path(), 95); // and three broken ones
  const { t, jobs } = shop;
  const { id } = await t.enqueue(jobs.importOrders, order);
  const results = await t.drain();
  expect(results.map(({ job }) => job)).toEqual([
    'orders.import',
    ...Array(10).fill('orders.import-chunk'),
    'orders.import-report',
  ]);
  expect(results.every(({ outcome }) => outcome === 'acked')).toBe(true);
  expect((await t.status(id))?.output).toEqual({ chunks: 10 });
  const [batch] = await t.client.batches.list();
  expect(batch).toMatchObject({ name: 'may', state: 'complete', total: 10, succeeded: 10, failed: 0 });
  expect(report()).toEqual({
    ...{ imported: 95, refused: 3, chunks: 10, failedChunks: 0 },
    problems: [
      { line: expect.any(Number), problem: 'email: Invalid email address' },
      { line: expect.any(Number), problem: expect.stringMatching(/^quantity: /) },
      { line: expect.any(Number), problem: expect.stringMatching(/^email: .*; city: /) },
    ],
  });
});

it('stops at a broken place, and goes on there when the file was mended', async () => {
  await writeOrdersCsv(path(), 3_000);
  const whole = readFileSync(path(), 'utf8');
  writeFileSync(path(), whole.replace('\nC-3501,', '\n"C-3501"x,'));
  const { t, jobs, db } = shop;
  const chunksOf = (results: readonly { job: string | null }[]) =>
    results.filter(({ job }) => job === 'orders.import-chunk').length;
  const { id } = await t.enqueue(jobs.importOrders, { ...order, chunkRows: 100 });
  const before = chunksOf(await t.drain());
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThanOrEqual(25);
  const { imported, refused } = db.importTotals('may');
  expect(imported + refused).toBe(before * 100);
  const [letter] = await t.deadLetters();
  expect(letter).toMatchObject({ id, reason: 'permanent' });
  expect(letter?.error).toMatch(
    /orders\.csv: Invalid Closing Quote: .* at line \d+ .* Mend the file and retry/,
  );
  expect(() => report()).toThrow(/ENOENT/);

  writeFileSync(path(), whole);
  await t.backend.admin!.deadLetters.retry([id]);
  expect(before + chunksOf(await t.drain())).toBe(31); // none of the first ones again
  expect(report()).toMatchObject({ imported: 3_000, refused: 3, chunks: 31, failedChunks: 0 });
  expect(db.countOrders('may')).toBe(3_000);
});

it.each([
  ['a file with a header only', 'order_no,name\n', /orders\.csv has no row below its header/],
  ['an empty file', '', /orders\.csv has no row below its header/],
])('refuses %s', async (_, text, says) => {
  writeFileSync(path(), text);
  const { t, jobs } = shop;
  await t.enqueue(jobs.importOrders, order);
  expect(await t.drain()).toMatchObject([{ outcome: 'dead-lettered', reason: 'permanent' }]);
  expect((await t.deadLetters())[0]?.error).toMatch(says);
  expect(await t.client.batches.list()).toEqual([]);
});
