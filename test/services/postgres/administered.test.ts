/** Databases that others administer: with publications, other encodings, and roles that own nothing. */

import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postgres, postgresStore } from '../../../local/backends/postgres/index.ts';
import { shared } from '../../kit/shared/shared.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { message } from '../sqlite/messages.ts';
import { runSql } from './load.ts';
import { type Database, freshDatabase } from './schemas.ts';

const day = 86_400_000;
const look = { queues: ['default'], max: 10, leaseMs: 30_000, waitMs: 0 };
const tag = randomBytes(4).toString('hex');

let database: Database;
let superuserUrl: string;
beforeEach(async () => {
  database = await freshDatabase();
  superuserUrl = (await shared('postgres')).superuserUrl;
});
afterEach(() => database.drop());

/** The URL of a database of the shared server. */
function urlOf(user: string, name = new URL(database.url).pathname): string {
  const url = new URL(user);
  url.pathname = name;
  return url.href;
}

it('a publication of all tables stops no step of a job', async () => {
  const clock = createVirtualClock();
  const backend = postgres({ url: database.url, clock, retention: { completedMs: day } });
  const { records } = backend.stores!;
  await backend.migrate!();
  await runSql(urlOf(superuserUrl), 'CREATE PUBLICATION everything FOR ALL TABLES');
  await backend.enqueue(['a', 'b', 'c', 'd'].map((id) => message({ id, group: id, order: 'wait' })));
  const [a, b, c, d] = await backend.fetch(look);
  expect(await backend.ack([{ lease: a! }, { lease: b!, keepMs: 5 * day }])).toEqual([true, true]);
  expect(await backend.abandon(c!, { reason: 'permanent', error: 'no' })).toBe(true);
  expect(await backend.nack(d!, { delayMs: 60_000, countAttempt: true })).toBe(true);
  expect(await backend.pending!.change([{ queue: 'default', id: 'd' }], { notBefore: null })).toEqual([true]);
  expect(await backend.fetch({ ...look, leaseMs: 1_000 })).toHaveLength(1);
  clock.advance(2_000);
  expect(await backend.reapExpired('default')).toBe(1);
  expect(await records.cancel('d')).toBe('cancelled');
  clock.advance(10 * day);
  for (let removed = 1; removed > 0; ) removed = await records.purge({ completedMs: 0, deadMs: 0 });
  expect((await records.page({})).records).toEqual([]);
  await backend.close();
});

it.each(['LATIN1', 'SQL_ASCII'])(
  'a database with the encoding %s is refused when it is opened',
  async (encoding) => {
    const name = `${encoding.toLowerCase()}_${tag}`;
    await runSql(
      superuserUrl,
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    const url = urlOf(superuserUrl, `/${name}`);
    const refusal = {
      code: 'CONFIG',
      message: expect.stringContaining(`"${name}" has the encoding ${encoding}`),
    };
    const backend = postgres(url);
    await expect(backend.fetch(look)).rejects.toMatchObject(refusal);
    await expect(backend.migrate!()).rejects.toMatchObject(refusal);
    const store = postgresStore({ url, migrate: false });
    await expect(store.records.get('a')).rejects.toMatchObject(refusal);
    await backend.close();
    await store.close();
    await runSql(superuserUrl, `DROP DATABASE ${name}`);
  },
);

describe('a role that owns nothing', () => {
  const role = `app_${tag}`;
  const grants = [
    'USAGE ON SCHEMA longshore',
    'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA longshore',
    'USAGE ON ALL SEQUENCES IN SCHEMA longshore',
  ];
  const start = Date.UTC(2090, 0, 15, 12);

  it('runs jobs and purges, also days that it may neither make nor drop', async () => {
    const clock = createVirtualClock(start);
    const owner = postgres({ url: database.url, migrate: true, clock });
    await owner.migrate!();
    await runSql(superuserUrl, `CREATE ROLE ${role} LOGIN PASSWORD 'app'`);
    for (const grant of grants) await runSql(database.url, `GRANT ${grant} TO ${role}`);
    const mine = new URL(database.url);
    Object.assign(mine, { username: role, password: 'app' });
    const backend = postgres({ url: mine.href, migrate: false, clock });
    const { records, keys } = backend.stores!;
    const complete = async (id: string) => {
      await backend.enqueue([message({ id })]);
      const leases = await backend.fetch(look);
      expect(await backend.ack(leases.map((lease) => ({ lease })))).toEqual([true]);
    };
    await complete('without a day');
    await owner.stores!.records.purge(); // makes the days that follow, which the role has no right to by themselves
    clock.advance(2 * day);
    await complete('in a day');
    await keys.claim('key', 'me', clock.now() + 1);
    clock.advance(20 * day);
    let removed = 0;
    for (let some = 1; some > 0; removed += some) some = await records.purge();
    expect(removed).toBe(3);
    expect((await records.page({})).records).toEqual([]);
    await backend.close();
    await owner.close();
    await runSql(database.url, `DROP OWNED BY ${role}`).catch(() =>
      runSql(urlOf(superuserUrl), `DROP OWNED BY ${role}`),
    );
    await runSql(superuserUrl, `DROP ROLE ${role}`);
  });

  it('has the days made by whoever migrates', async () => {
    const owner = postgres({ url: database.url, migrate: true });
    const { to } = await owner.migrate!();
    const tomorrow = new Date(Date.now() + day).toISOString().slice(0, 10).replaceAll('-', '');
    await runSql(database.url, `DROP TABLE longshore.history_${tomorrow}`);
    expect(await owner.migrate!()).toEqual({ from: to, to });
    const found = `SELECT to_regclass('longshore.history_${tomorrow}') IS NOT NULL AS is`;
    expect(await runSql(database.url, found)).toEqual([{ is: true }]);
    await owner.close();
  });
});
