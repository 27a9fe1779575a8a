/** The example's import, whose workers are killed again and again wherever they are. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { writeOrdersCsv } from '../../../examples/demo/samples.ts';
import { openShop } from './import-worker.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-import-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rows = 97;
/**
 * Each with the calls until the kill. The first ones meet the importer, `sealed` what it does last, when all is sent and nobody has heard of
 * it, and the others its chunks.
 */
const kills = [3, 4, 9, 14, 21, 'sealed', 26, 31, 37, 40];
const apartMs = 120_000;

it('imports every row once, and reports once', { timeout: 300_000 }, async () => {
  await writeOrdersCsv(join(folder, 'orders.csv'), rows);
  const first = openShop(folder, 0);
  const order = { importId: 'may', file: 'orders.csv', chunkRows: 1 };
  const client = connect(first.app, first.backend);
  const { id } = await client.enqueue(first.importOrders, order);
  await client.close();
  first.db.close();

  const script = join(import.meta.dirname, 'import-worker.ts');
  for (const [i, last] of kills.entries()) {
    const args = ['--disable-warning=ExperimentalWarning', script, folder, `${last}`, `${i * apartMs}`];
    const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ i, signal, stderr }).toEqual({ i, signal: 'SIGKILL', stderr: '' });
  }
  const shop = openShop(folder, kills.length * apartMs);
  const after = connect(shop.app, shop.backend);
  await startWorker(shop.app, { backend: shop.backend, untilIdle: true }).done;
  await lookAtBatches(after);
  await startWorker(shop.app, { backend: shop.backend, untilIdle: true }).done;

  expect(await shop.backend.admin!.deadLetters.list({})).toEqual([]);
  expect(await after.status(id)).toMatchObject({ status: 'completed', output: { chunks: 100 } });
  expect(shop.db.countOrders('may')).toBe(rows);
  expect(shop.db.importTotals('may')).toMatchObject({ imported: rows, refused: 3 });
  const batches = await after.batches.list();
  expect(batches).toMatchObject([{ state: 'complete', total: 100, succeeded: 100, failed: 0 }]);
  expect(await after.status(`batch-end.${batches[0]!.id}.onComplete.1`)).toMatchObject({
    status: 'completed',
  });
  const report = JSON.parse(readFileSync(join(folder, 'reports/import-may.json'), 'utf8'));
  expect(report).toMatchObject({ imported: rows, refused: 3, chunks: 100, failedChunks: 0 });
  await after.close();
  shop.db.close();
});
