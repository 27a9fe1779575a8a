/** Limits in a SQLite file: what they read, and how files of the version before get them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { limitStatements } from '../../../local/backends/sqlite/limits.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-'));
const path = join(folder, 'jobs.db');
const clock = createVirtualClock();
const { limits, records, close } = sqliteStore({ path, clock });
const ask = (holder: string, change = {}): Contract.SlotRequest => ({
  ...{ key: 'crowd', limit: 1, holder, owner: 'o', holdMs: 3_600_000, rank: 0, queue: 'mail' },
  ...change,
});

beforeAll(async () => {
  await limits!.take([ask('runs'), ask('waits')]);
  const db = new DatabaseSync(path);
  db.exec(`
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 11999)
    INSERT INTO limit_waiters SELECT 'waits ' || n, key, queue, n, most, until FROM n, limit_waiters`);
  db.close();
});
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

describe('limits in a SQLite file', () => {
  it('read nothing but what one key has', () => {
    const db = new DatabaseSync(path);
    for (const [name, sql] of Object.entries(limitStatements)) {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      for (const { detail } of plan) {
        // Of the few rows that an inner statement has found, or of none.
        if (/^SCAN (\(?subquery|CONSTANT)/i.test(String(detail))) continue;
        expect(String(detail), name).not.toMatch(/SCAN/);
        if (name !== 'slots') expect(String(detail), name).not.toMatch(/TEMP B-TREE/);
      }
    }
    db.close();
  });

  it('count those that are ahead, and those that wait, only so far', async () => {
    const [answer] = await limits!.take([ask('late', { rank: 1e9 })]);
    expect(answer).toEqual({ taken: false, limit: 1, largest: 1, ahead: 1_000, waitMs: 3_600_000 * 1_001 });
    expect(await limits!.list({})).toMatchObject([{ key: 'crowd', used: 1, waiting: 10_000 }]);
  });

  it('are purged in steps', async () => {
    clock.advance(400 * 86_400_000);
    const counts = [];
    for (let gone = 1; gone > 0; counts.push(gone)) gone = await records.purge();
    expect(counts[0]).toBe(1_001);
    expect(counts.reduce((sum, count) => sum + count)).toBe(12_002);
  });

  it('go with the file, for the queue and the store in it', async () => {
    const both = join(folder, 'both.db');
    const [backend, store] = [sqlite(both), sqliteStore(both)];
    expect(await backend.stores!.limits!.take([ask('one')])).toEqual([{ taken: true, limit: 1, largest: 1 }]);
    expect(await store.limits!.take([ask('two')])).toMatchObject([{ taken: false, ahead: 0 }]);
    await backend.close();
    await store.close();
  });
});
