/** What version 0.1.0 has kept in tables of their own is moved into texts, and processes of that version may still run beside. */

import { afterAll, expect, it } from 'vitest';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { schemaVersion } from '../../../local/backends/postgres/schema.ts';
import { sqlText } from '../../kit/stored/everything/restore.ts';
import { auditEntry } from '../../testing/laws/audit-entry.ts';
import { runSql } from './load.ts';
import { freshDatabase } from './schemas.ts';

const database = await freshDatabase();
afterAll(() => database.drop());

it('steps, schedules, numbers, the audit log and workers of version 0.1.0 are there', async () => {
  const s = 'longshore';
  const sql = (text: string) => runSql(database.url, text);
  await sql(await sqlText('postgres.sql'));
  await sql(
    `TRUNCATE ${['steps', 'schedules', 'metrics', 'audit', 'workers'].map((table) => `${s}.${table}`).join(', ')}`,
  );
  const now = Date.now();
  const add = (table: string, ...values: (string | number | boolean | null)[]) =>
    sql(
      `INSERT INTO ${s}.${table} VALUES (${values.map((value) => (typeof value === 'string' ? `'${value}'` : String(value))).join(', ')})`,
    );
  await add('steps', 'job:a', 'v1', now + 60_000, '"step"');
  await add('schedules', 'nightly', now + 5_000, 'v3', '{"every":"day"}');
  await add('schedules', 'paused', null, 'v4', '{}');
  await add('metrics', 'minute', 1_700_000_040_000, 'mail', 'send', 'worker 1', '{"n":1}');
  await add('metrics', 'day', 1_699_920_000_000, 'mail', '', '', '{"n":2}');
  const entries = ['~x!', 'a', 'a\\b', 'ab', 'b'].map((id) => auditEntry(id, id === 'b' ? now - 1 : now));
  for (const entry of entries) await add('audit', entry.at, entry.id, JSON.stringify(entry));
  const beat = {
    ...{ id: 'w1', host: 'h', pid: 1, queues: ['mail'], concurrency: 1, startedAt: 1, seenAt: now },
    ...{ running: 0, memoryBytes: 1 },
    counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
  };
  await add('workers', 'w1', now, JSON.stringify(beat), true);

  const backend = postgres(database.url);
  expect(await backend.migrate!()).toEqual({ from: 10, to: schemaVersion });
  const { steps, schedules, metrics, audit, workers } = backend.stores!;
  expect(await steps!.read('job:a')).toMatchObject({ text: '"step"', version: 'v1' });
  const [first, second] = await schedules!.list({ max: 10 });
  expect(first).toMatchObject({ name: 'nightly', nextAt: now + 5_000, text: '{"every":"day"}' });
  expect(second).toMatchObject({ name: 'paused', nextAt: null, text: '{}' });
  expect(await schedules!.due(now + 5_000, 10)).toEqual([first]);
  const every = { from: 0, to: now };
  expect(await metrics!.read({ step: 'minute', ...every })).toEqual([
    {
      step: 'minute',
      at: 1_700_000_040_000,
      queue: 'mail',
      job: 'send',
      source: 'worker 1',
      body: '{"n":1}',
    },
  ]);
  expect(await metrics!.read({ step: 'day', ...every, job: '' })).toHaveLength(1);
  const { entries: kept } = await audit!.page({});
  expect(kept.map(({ id }) => id)).toEqual(['~x!', 'ab', 'a\\b', 'a', 'b']);
  await audit!.append({ ...entries[1]!, note: 'again' });
  expect((await audit!.page({})).entries).toEqual(kept);
  expect(await workers!.list(0)).toMatchObject([{ id: 'w1', pid: 1 }]);
  expect(await workers!.heartbeat({ ...beat, seenAt: Date.now() })).toEqual({ drain: true });

  // As a worker of version 0.1.0 does.
  const text =
    await sql(`INSERT INTO ${s}.steps (name, version, ends_at, text) VALUES ('job:b', 'v', ${now + 60_000}, '1')
    ON CONFLICT (name) DO NOTHING RETURNING 1`);
  expect(text).toHaveLength(1);
  await sql(
    `UPDATE ${s}.steps SET version = 'v2', ends_at = ${now}, text = '2' WHERE name = 'job:b' AND version = 'v'`,
  );
  expect(await steps!.read('job:b')).toMatchObject({ text: '2', version: 'v2' });
  await add('workers', 'old', now, '{}', false);
  expect(await sql(`SELECT name FROM ${s}.schedules WHERE next_at <= ${now} ORDER BY next_at, name`)).toEqual(
    [],
  );
  await expect(add('schedules', 'lost', null, 'v', '{}')).rejects.toThrow(/cannot insert into view/);
  await expect(add('audit', now, 'lost', '{}')).rejects.toThrow(/cannot insert into view/);
  await backend.close();
});
