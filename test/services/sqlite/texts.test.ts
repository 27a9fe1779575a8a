/** What version 0.1.0 has kept in tables of their own is moved into texts, and read as before. */

import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { sqlite, sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { sqliteFile } from '../../kit/stored/everything/restore.ts';
import { auditEntry } from '../../testing/laws/audit-entry.ts';

it('steps, schedules, numbers, the audit log and workers of version 0.1.0 are there', async () => {
  const { path, remove } = await sqliteFile('sqlite.sql');
  const db = new DatabaseSync(path);
  for (const table of ['steps', 'schedules', 'metrics', 'audit', 'workers']) db.exec(`DELETE FROM ${table}`);
  const now = Date.now();
  const add = (table: string, ...values: (string | number | null)[]) =>
    db.prepare(`INSERT INTO ${table} VALUES (${values.map(() => '?').join(', ')})`).run(...values);
  add('steps', 'job:a', 'v1', now + 60_000, '"step"');
  add('steps', 'event:a\0b', 'v2', now + 60_000, '"event"');
  add('schedules', 'nightly', now + 5_000, 'v3', '{"every":"day"}');
  add('schedules', 'paused', null, 'v4', '{}');
  add('metrics', 'minute', 1_700_000_040_000, 'mail', 'send', 'worker 1', '{"n":1}');
  add('metrics', 'day', 1_699_920_000_000, 'mail', '', '', '{"n":2}');
  add('metrics', 'hour', 1_699_999_200_000, 'a b', '100%20', 'worker 1', '{"n":3}'); // of another program
  const entries = ['~x!', 'a', 'ab', 'b'].map((id) => auditEntry(id, id === 'b' ? now - 1 : now));
  for (const entry of entries) add('audit', entry.at, entry.id, JSON.stringify(entry));
  const beat = {
    ...{ id: 'w1', host: 'h', pid: 1, queues: ['mail'], concurrency: 1, startedAt: 1, seenAt: now },
    ...{ running: 0, memoryBytes: 1 },
    counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
  };
  add('workers', 'w1', now, JSON.stringify(beat), 1);
  db.close();

  const backend = sqlite(path);
  const { steps, schedules, metrics, audit, workers } = backend.stores!;
  expect(await steps!.read('job:a')).toEqual({ text: '"step"', version: 'v1' });
  expect(await steps!.write('event:a\0b', '"next"', 'v2', now)).not.toBeNull();
  const [first, second] = await schedules!.list({ max: 10 });
  expect(first).toMatchObject({ name: 'nightly', nextAt: now + 5_000, text: '{"every":"day"}' });
  expect(second).toMatchObject({ name: 'paused', nextAt: null, text: '{}' });
  expect(await schedules!.due(now + 5_000, 10)).toEqual([first]);
  expect(await schedules!.write({ name: 'nightly', nextAt: now + 9_000, text: '{}' }, first!.version)).toBe(
    true,
  );
  expect(await schedules!.due(now + 8_999, 10)).toEqual([]);
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
  expect(await metrics!.read({ step: 'hour', ...every, queue: 'a b' })).toMatchObject([
    { queue: 'a b', job: '100%20', source: 'worker 1' },
  ]);
  const { entries: kept } = await audit!.page({});
  expect(kept.map(({ id }) => id)).toEqual(['~x!', 'ab', 'a', 'b']);
  await audit!.append({ ...entries[1]!, note: 'again' });
  expect((await audit!.page({})).entries).toEqual(kept);
  await audit!.append(auditEntry('aa', now));
  expect((await audit!.page({})).entries.map(({ id }) => id)).toEqual(['~x!', 'ab', 'aa', 'a', 'b']);
  expect(await workers!.list(0)).toEqual([beat]);
  expect(await workers!.heartbeat(beat)).toEqual({ drain: true });
  await backend.close();

  const store = sqliteStore(path);
  expect(await store.texts!.read(['job:a'])).toMatchObject([{ text: '"step"' }]);
  await store.close();
  await remove();
});

it('a file of version 0.1.0 ends with the columns and indexes of a new one', async () => {
  const { path, remove } = await sqliteFile('sqlite.sql');
  const of = async (path: string) => {
    await sqlite(path).close();
    const db = new DatabaseSync(path);
    const found = db.prepare(`
      SELECT m.name || ' ' || group_concat(c.name || ' ' || c.type || c."notnull" || coalesce(c.dflt_value, ''), ', ' ORDER BY c.name) AS text
      FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY m.name
      UNION ALL SELECT trim(sql) FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY text`);
    const texts = found.all().map(({ text }) => text);
    db.close();
    return texts;
  };
  expect(await of(path)).toEqual(await of(`${path}-new`));
  await remove();
});
