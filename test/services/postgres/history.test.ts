/** The history: a table per day, made ahead and dropped as a whole, and no table that grows without end. */

import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Contract } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { runSql } from './load.ts';
import { type Database, freshDatabase } from './schemas.ts';

const day = 86_400_000;
const look = { queues: ['default'], max: 1_000, leaseMs: 30_000, waitMs: 0 };

let database: Database;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

/** The days that have a table, as `20260115`. */
async function days(): Promise<string[]> {
  const sql = `SELECT right(c.relname, 8) AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'longshore.history'::regclass AND c.relname NOT IN ('history_other', 'history_kept') ORDER BY 1`;
  return (await runSql<{ day: string }>(database.url, sql)).map((row) => row.day);
}

const nameOf = (at: number): string => new Date(at).toISOString().slice(0, 10).replaceAll('-', '');

async function placeOf(id: string): Promise<string> {
  const sql = 'SELECT tableoid::regclass::text AS place FROM longshore.history WHERE id = $1';
  return (await runSql<{ place: string }>(database.url, sql, [id]))[0]!.place;
}

async function complete(backend: Contract.QueueBackend, id: string): Promise<void> {
  await backend.enqueue([message({ id })]);
  const leases = await backend.fetch(look);
  expect(await backend.ack(leases.map((lease) => ({ lease })))).toEqual([true]);
}

describe('the days of the history', () => {
  // Later than today, for which migrating makes tables.
  const start = Date.UTC(2090, 0, 15, 12);

  it('have their tables a week ahead, and lose them as a whole when they are past, the others untouched', async () => {
    const clock = createVirtualClock(start);
    const backend = postgres({ url: database.url, clock, retention: { completedMs: 3 * day } });
    const { records } = backend.stores!;
    await records!.purge();
    const ahead = Array.from({ length: 9 }, (_, n) => nameOf(start + (n - 1) * day));
    expect((await days()).filter((name) => name >= '2090')).toEqual(ahead);

    for (let n = 0; n < 6; n++) {
      await complete(backend, `day ${n}`);
      expect(await placeOf(`day ${n}`)).toBe(`history_${nameOf(clock.now())}`);
      clock.advance(day);
    }
    const oids = () =>
      runSql<{ name: string; oid: number }>(
        database.url,
        `SELECT relname AS name, oid::int AS oid FROM pg_class WHERE relname ~ '^history_2090[0-9]{4}$' ORDER BY 1`,
      );
    const before = await oids();
    // Six days later the first two days are more than three days past; of the third some is not.
    await records!.purge();
    const left = await oids();
    expect(
      left.map(({ name }) => name).filter((name) => name <= `history_${nameOf(start + 5 * day)}`),
    ).toEqual([3, 4, 5].map((n) => `history_${nameOf(start + n * day)}`));
    for (const { name, oid } of left) {
      const same = before.find((one) => one.name === name);
      if (same) expect(oid).toBe(same.oid);
    }
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push((await records!.get(`day ${n}`))?.status ?? null);
    expect(statuses).toEqual([null, null, null, null, 'completed', 'completed']);
    expect((await records!.page({ status: 'completed' })).records.map(({ id }) => id)).toEqual([
      'day 5',
      'day 4',
    ]);
    await backend.close();
  });

  it('that nobody has made a table for lose nothing, are read like the others, and are purged like them', async () => {
    const clock = createVirtualClock(start);
    const backend = postgres({ url: database.url, clock, retention: { completedMs: 3 * day } });
    const { records } = backend.stores!;
    await complete(backend, 'early');
    expect(await placeOf('early')).toBe('history_other');
    // From now on somebody works. The day that has begun in the other table stays there.
    await records!.purge();
    expect(await days()).not.toContain(nameOf(start));
    await complete(backend, 'same day');
    expect(await placeOf('same day')).toBe('history_other');
    clock.advance(day);
    await complete(backend, 'next day');
    expect(await placeOf('next day')).toBe(`history_${nameOf(start + day)}`);
    expect(await backend.enqueue([message({ id: 'early' }), message({ id: 'next day' })])).toMatchObject([
      { duplicate: true },
      { duplicate: true },
    ]);
    expect((await records!.page({ status: 'completed' })).records.map(({ id }) => id)).toEqual([
      'next day',
      'same day',
      'early',
    ]);
    clock.advance(2.5 * day);
    expect(await records!.purge()).toBe(2);
    expect(await records!.get('early')).toBe(null);
    expect(await records!.get('next day')).toMatchObject({ status: 'completed' });
    await backend.close();
  });

  it('wait with their coming and going for a backup, and let nobody else wait', async () => {
    const clock = createVirtualClock(start);
    const backend = postgres({ url: database.url, clock, retention: { completedMs: day } });
    const { records } = backend.stores!;
    await records!.purge();
    await complete(backend, 'first');
    const backup = new pg.Client(database.url);
    await backup.connect();
    // pg_dump holds such locks on all tables until it ends.
    await backup.query('BEGIN; LOCK TABLE longshore.history IN ACCESS SHARE MODE');
    clock.advance(3 * day);
    const before = await days();
    const purging = records!.purge();
    for (let n = 0; n < 20; n++) {
      await complete(backend, `during ${n}`);
      await records!.get('first');
    }
    await purging; // all that while the backup holds its lock: nobody has waited for that
    expect(await days()).toEqual(before);
    await backup.query('COMMIT');
    await backup.end();
    expect(await records!.purge()).toBe(1);
    expect(await days()).not.toContain(nameOf(start));
    expect(await days()).toContain(nameOf(start + 10 * day));
    await backend.close();
  });

  it('are made once by several that purge together', async () => {
    const clock = createVirtualClock(start);
    const backends = Array.from({ length: 5 }, () => postgres({ url: database.url, clock }));
    // A step that would have to wait is left to the next purge, as where the server is busy.
    const made = await until(async () => {
      await Promise.all(backends.map((backend) => backend.stores!.records!.purge()));
      const found = (await days()).filter((name) => name >= '2090');
      return found.length >= 9 && found;
    });
    expect(made).toHaveLength(9);
    for (const backend of backends) await backend.close();
  });
});

it('the tables of the living stay small, however many jobs have gone through them', {
  timeout: 120_000,
}, async () => {
  const jobs = 20_000;
  const backend = postgres({ url: database.url, retention: { completedMs: 0 } });
  const sizes: number[] = [];
  const tables = ['jobs', 'ready', 'delayed', 'leases', 'renewals'];
  await backend.migrate!();
  // On a busy machine an analyze by the server lasts, and VACUUM keeps all rows that went after it has begun.
  for (const table of tables)
    await runSql(database.url, `ALTER TABLE longshore.${table} SET (autovacuum_enabled = off)`);
  for (let round = 0; round < 5; round++) {
    for (let n = 0; n < jobs; n += 1_000) {
      const some = Array.from({ length: 1_000 }, (_, i) =>
        message({ id: `${round}-${n + i}`, body: 'x'.repeat(200) }),
      );
      await backend.enqueue(some);
    }
    for (;;) {
      const leases = await backend.fetch(look);
      if (leases.length === 0) break;
      await backend.ack(leases.map((lease) => ({ lease })));
    }
    // What autovacuum does after as many changes. It cuts off free pages only while nobody else uses the table.
    for (const table of tables) await runSql(database.url, `VACUUM longshore.${table}`);
    const sql = `SELECT sum(pg_total_relation_size(oid))::float8 AS bytes FROM pg_class
      WHERE relnamespace = 'longshore'::regnamespace AND relkind = 'r'`;
    sizes.push((await runSql<{ bytes: number }>(database.url, sql))[0]!.bytes);
  }
  // Space that was used once is used again. Without that each round would add about 8 MB, whether it is cut off or not.
  expect(Math.max(...sizes)).toBeLessThan(16_000_000);
  await backend.close();
});
