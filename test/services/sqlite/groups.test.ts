/** What SQLite keeps of groups. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { message } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-'));
let files = 0;
let path: string;
let backend: QueueBackend;
beforeEach(() => {
  path = join(folder, `${++files}.db`);
  backend = sqlite(path);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** With a connection that knows nothing of the backend. */
function byHand<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const fetch = async (max = 10) =>
  (await backend.fetch({ queues: ['default'], max, leaseMs: 60_000, waitMs: 0 })).map(({ body }) => body);
const ordered = { group: 'a', order: 'wait' } as const;

describe('groups in SQLite', () => {
  it('keep nothing of jobs without a group, and nothing of jobs that are done', async () => {
    await backend.enqueue([message({ id: 'plain' }), message({ id: 'one', group: 'a' })]);
    const rows = () => byHand((db) => db.prepare('SELECT count(*) AS n FROM grouped').get()!.n);
    expect(rows()).toBe(1);
    const leases = await backend.fetch({ queues: ['default'], max: 2, leaseMs: 60_000, waitMs: 0 });
    await backend.ack(leases.map((lease) => ({ lease })));
    expect(rows()).toBe(0);
    await backend.close();
  });

  it.each([
    ['whose head was deleted', "DELETE FROM ready; DELETE FROM jobs WHERE id = 'first'"],
    ['whose running job was deleted', "DELETE FROM leases; DELETE FROM jobs WHERE id = 'first'", 1],
    [
      'whose running job an older release has completed',
      "DELETE FROM leases; UPDATE jobs SET ended = 2 WHERE id = 'first'",
      1,
    ],
  ])('that are left without a head, %s, get one when the queue is reaped', async (_, sql, running = 0) => {
    await backend.enqueue([
      message({ id: 'first', ...ordered }),
      message({ id: 'next', body: 'next', ...ordered }),
    ]);
    if (running > 0) await fetch(running);
    byHand((db) => db.exec(sql));
    expect(await fetch()).toEqual([]);
    await backend.reapExpired('default');
    expect(await fetch()).toEqual(['next']);
    await backend.close();
  });

  it('are healed some at a time, and all in the end', async () => {
    const messages = Array.from({ length: 1_000 }, (_, i) => [
      message({ id: `first-${i}`, group: `g${i}` }),
      message({ id: `next-${i}`, group: `g${i}` }),
    ]);
    await backend.enqueue(messages.flat());
    byHand((db) => db.exec("DELETE FROM ready; DELETE FROM jobs WHERE id LIKE 'first%'"));
    for (let round = 0; round < 6; round++) await backend.reapExpired('default');
    expect(await fetch(2_000)).toHaveLength(1_000);
    await backend.close();
  });

  it('that are alone fill a fetch without making each job a head, and are hardly ahead of others then', async () => {
    await backend.close();
    backend = sqlite({ path, clock: { ...systemClock, now: () => 1_000_000 } });
    const many = Array.from({ length: 1_500 }, (_, i) => message({ id: `a${i}`, body: `a${i}`, group: 'a' }));
    await backend.enqueue(many);
    expect(await fetch(1_400)).toEqual(many.slice(0, 1_400).map(({ body }) => body));
    const heads = byHand((db) => db.prepare('SELECT entered_at FROM grouped WHERE entered_at > 0').all());
    expect(heads.map(({ entered_at }) => entered_at)).toEqual([1_000_000, 1_001_000]);
    await backend.close();
  });

  it('give out those before an ordered one, and that one alone when they have ended', async () => {
    await backend.enqueue(['a', 'b', 'c'].map((body) => message({ id: body, body, group: 'a' })));
    await backend.enqueue(['d', 'e'].map((body) => message({ id: body, body, ...ordered })));
    const leases = await backend.fetch({ queues: ['default'], max: 10, leaseMs: 60_000, waitMs: 0 });
    expect(leases.map(({ body }) => body)).toEqual(['a', 'b', 'c']);
    await backend.ack(leases.slice(1).map((lease) => ({ lease })));
    expect(await fetch()).toEqual([]);
    await backend.ack([{ lease: leases[0]! }]);
    expect(await fetch()).toEqual(['d']);
    await backend.close();
  });

  it('are found by indexes, however many there are', () => {
    const plans = byHand((db) =>
      [
        "SELECT * FROM grouped WHERE queue = 'q' AND name = 'a' AND state = 0 ORDER BY place, seq LIMIT 1",
        "SELECT j.body FROM grouped CROSS JOIN jobs j ON j.seq = grouped.seq WHERE grouped.queue = 'q' AND name = 'a' AND state = 0 ORDER BY place, grouped.seq LIMIT 9",
        "SELECT name FROM grouped WHERE queue = 'q' AND name > 'a' ORDER BY name LIMIT 1",
        "SELECT seq FROM grouped WHERE queue = 'q' AND apart_until <= 7 ORDER BY apart_until, seq LIMIT 9",
      ].map((sql) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map(({ detail }) => detail)
          .join('\n'),
      ),
    );
    for (const plan of plans) {
      expect(plan).toMatch(/SEARCH grouped USING (COVERING )?INDEX grouped_/);
      expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
    }
  });
});
