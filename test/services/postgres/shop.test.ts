/** The database of the example where it runs as functions: that it does what the file on one machine does. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ImportBatch,
  type OrderRow,
  openDatabase,
  type ShopDatabase,
} from '../../../examples/app/database.ts';
import { postgresDatabase } from '../../../examples/cloud/database.ts';
import { type Database, freshDatabase } from './schemas.ts';

let database: Database;
const folder = mkdtempSync(join(tmpdir(), 'longshore-shop-'));
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const row = (orderNo: string, more: Partial<OrderRow> = {}): OrderRow => ({
  orderNo,
  customerNo: 'C-1',
  name: 'Ada',
  email: 'ada@customer.example',
  city: 'Kiel',
  item: 'rope',
  quantity: 2,
  unitPriceCents: 450,
  orderedOn: '2026-05-01',
  ...more,
});

const batch = (rows: OrderRow[], refused: ImportBatch['refused'] = []): ImportBatch => ({
  importId: 'may',
  tenantId: 'acme',
  rows,
  refused,
});

/** What jobs do, some of it twice, as jobs may run twice. */
async function story(shop: ShopDatabase) {
  const first = batch([row('A-1'), row('A-2', { customerNo: 'C-2' })], [{ line: 4, problem: 'no city' }]);
  return {
    first: await shop.saveBatch(first),
    again: await shop.saveBatch(first),
    more: await shop.saveBatch(batch([row('A-3', { orderedOn: '2026-05-02', city: 'Bremen' })])),
    empty: await shop.saveBatch(batch([])),
    totals: { ...(await shop.importTotals('may')) },
    refused: (await shop.refusedRows('may', 10)).map((row) => ({ ...row })),
    order: await shop.order('A-1'),
    none: await shop.order('A-9'),
    paid: await shop.markPaid('A-1'),
    sales: (await shop.salesByDay()).map((day) => ({ ...day })),
    own: (await shop.salesByDay('acme')).length,
    others: await shop.salesByDay('globex'),
  };
}

describe('postgresDatabase()', () => {
  it('does what the file on one machine does', async () => {
    const local = openDatabase(join(folder, 'shop.db'));
    const shared = postgresDatabase(() => database.url);
    const expected = await story(local);
    const got = await story(shared);
    local.close();
    await shared.close();
    expect(got).toEqual({ ...expected, order: { ...expected.order } });
    expect(expected).toMatchObject({
      first: { imported: 2, refused: 1 },
      again: { imported: 0, refused: 0 },
      more: { imported: 1, refused: 0 },
      own: 2,
      others: [],
      totals: { imported: 3, refused: 1 },
      refused: [{ line: 4, problem: 'no city' }],
      order: { city: 'Bremen' },
      none: null,
    });
  });

  it('is one for all instances, also when they start at the same time', async () => {
    const own = await freshDatabase();
    const instances = Array.from({ length: 8 }, () => postgresDatabase(() => own.url));
    const saved = instances.map((shop, i) => shop.saveBatch(batch([row(`B-${i}`), row(`B-${i + 1}`)])));
    const imported = (await Promise.all(saved)).reduce((sum, totals) => sum + totals.imported, 0);
    expect(imported).toBe(9);
    for (const shop of instances) expect(await shop.order('B-8')).toMatchObject({ orderNo: 'B-8' });
    await Promise.all(instances.map((shop) => shop.close()));
    await own.drop();
  });

  it('says what is missing with the first query, and tries again with the next', async () => {
    let url: string | null = null;
    const shop = postgresDatabase(() => {
      if (url === null) throw new Error('Expected SHOP_DATABASE_URL in the environment, got nothing.');
      return url;
    });
    await expect(shop.order('A-1')).rejects.toThrow('SHOP_DATABASE_URL');
    ({ url } = database);
    expect(await shop.order('none')).toBeNull();
    await shop.close();
  });
});
