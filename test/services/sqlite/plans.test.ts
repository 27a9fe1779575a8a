import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, it } from 'vitest';
import type { RecordFilter } from '../../../core/contract/store.ts';
import { openDatabase } from '../../../local/backends/sqlite/database.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { pathOf, whereOf } from '../../../local/backends/sqlite/where.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-'));
const path = join(folder, 'jobs.db');
const backend = sqlite(path);
const db = new DatabaseSync(path);
const opened = openDatabase('sqlite()', { path });

afterAll(async () => {
  db.close();
  opened.close();
  await backend.close();
  rmSync(folder, { recursive: true });
});

/** Of a list without an end, as the backend asks for one. */
function planOf(table: 'jobs' | 'records', filter: RecordFilter, order: string): string {
  const path = pathOf(opened, filter, table);
  const where = whereOf(filter, table);
  const sql = [path.sql, ...where.sql].join(' AND ');
  const rows = db.prepare(`EXPLAIN QUERY PLAN SELECT * FROM ${table} WHERE ${sql} ORDER BY ${order}`);
  return rows
    .all(...path.values, ...where.values)
    .map(({ detail }) => detail)
    .join('\n');
}

describe('a list of a SQLite file', () => {
  const filters: readonly (readonly [RecordFilter, string])[] = [
    [{ tenantId: 'acme' }, 'tenant'],
    [{ idempotencyKey: 'order:1' }, 'key'],
    [{ schedule: 'nightly' }, 'schedule'],
  ];
  for (const [filter, index] of filters) {
    it(`finds by ${index} without reading other jobs, and without sorting`, () => {
      const plan = planOf('jobs', filter, 'seq DESC');
      assert.match(plan, new RegExp(`USING INDEX jobs_${index} `));
      assert.doesNotMatch(plan, /SCAN|TEMP B-TREE/);
      assert.match(
        planOf('records', filter, 'created_at DESC, seq DESC'),
        new RegExp(`USING INDEX records_${index} `),
      );
    });
  }

  it('finds the few jobs that have failed, expired or been cancelled without reading those that wait', () => {
    for (const status of ['failed', 'expired', 'cancelled'] as const)
      for (const queue of [{}, { queue: 'mail' }])
        assert.doesNotMatch(planOf('jobs', { status, ...queue }, 'seq DESC'), /SCAN/);
  });

  it('finds by the beginning of an id without reading other jobs', () => {
    for (const table of ['jobs', 'records'] as const)
      assert.doesNotMatch(planOf(table, { idPrefix: '0199' }, 'seq DESC'), /SCAN/);
  });
});
