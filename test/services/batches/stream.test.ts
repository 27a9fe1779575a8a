/** A stream that is longer than memory should be: what is sent is forgotten. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-stream-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A million with `ITEMS=1000000`. */
const items = Number(process.env.ITEMS ?? 100_000);
const mostGrowth = 8 * 1024 ** 2;

it(`${items} items of a stream need no more memory than the first tenth`, { timeout: 900_000 }, async () => {
  setFlagsFromString('--expose_gc');
  const gc = runInNewContext('gc') as () => void;
  const row = defineJob({
    name: 'row',
    payload: z.object({ row: z.number(), text: z.string() }),
    async handle() {},
  });
  const app = createApp({ jobs: [row], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const client = connect(app, sqlite(join(folder, 'jobs.db')));
  const heaps: number[] = [];
  function* source() {
    for (let n = 0; n < items; n++) {
      if (n > 0 && n % (items / 10) === 0) {
        gc();
        heaps.push(process.memoryUsage().heapUsed);
      }
      yield { row: n, text: 'x'.repeat(200) };
    }
  }
  const batch = await client.batch('rows', Readable.from(source()), { job: row, chunkSize: 500 });
  await client.close();
  expect(batch).toMatchObject({ total: items, sent: items });
  expect(heaps.length).toBe(9);
  expect(Math.max(...heaps) - heaps[0]!).toBeLessThan(mostGrowth);
});
