/** How the tables come to be: once, whole or not at all, in whatever surroundings the database offers. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp, defineJob, keyRing } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { startLocal } from '../../../local/start.ts';
import { cli, imports, project, root } from '../../e2e/cli/kit.ts';
import { sqlText } from '../../kit/stored/everything/restore.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { runSql } from './load.ts';
import { type Database, freshDatabase } from './schemas.ts';

const look = { queues: ['default'], max: 10, leaseMs: 30_000, waitMs: 0 };

let database: Database;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

/** Everything that a schema holds, in a form that can be compared. */
async function contents(schema: string): Promise<unknown[]> {
  return runSql(
    database.url,
    `SELECT relname::text AS name, relkind::text AS kind, oid::int AS oid FROM pg_class WHERE relnamespace = to_regnamespace($1)
     UNION ALL SELECT proname::text, 'function', oid::int FROM pg_proc WHERE pronamespace = to_regnamespace($1) ORDER BY name, oid`,
    [schema],
  );
}

describe('migrating', () => {
  it('is done once by many that begin together, and by their first calls', async () => {
    const backends = Array.from({ length: 8 }, () => postgres(database.url));
    const answers = await Promise.all(
      backends.map((backend, n) => (n % 2 === 0 ? backend.migrate!() : backend.fetch(look).then(() => null))),
    );
    const made = answers.filter((answer) => answer?.from === null);
    expect(made.length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer && !made.includes(answer)) expect(answer.from).toBe(answer.to);
    for (const backend of backends) await backend.close();
  });

  it('again changes nothing', async () => {
    const backend = postgres(database.url);
    const { to } = await backend.migrate!();
    const before = await contents('longshore');
    expect(before.length).toBeGreaterThan(20);
    expect(await backend.migrate!()).toEqual({ from: to, to });
    expect(await contents('longshore')).toEqual(before);
    await backend.close();
  });

  it('that nobody has done stops startLocal() with one error, and nothing is started', async () => {
    const backend = postgres({ url: database.url, migrate: false });
    const job = defineJob({ name: 'work', payload: z.any(), handle: () => {} });
    const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
    const events: string[] = [];
    const app = createApp({ jobs: [job], signing, on: ({ type }) => events.push(type) });
    await expect(startLocal(app, { backend, logger: false })).rejects.toMatchObject({
      code: 'SCHEMA_VERSION',
      message: expect.stringMatching(/got no tables\. Run `longshore migrate`/),
    });
    expect(events).toEqual([]);
    await backend.close();
  });

  it('of a database of version 0.1.0 ends with the columns, indexes and functions of a new schema', async () => {
    const { url } = database;
    await runSql(url, await sqlText('postgres.sql'));
    for (const schema of ['longshore', 'fresh']) {
      const backend = postgres({ url, schema });
      await backend.migrate!();
      await backend.close();
    }
    const of = async (schema: string) => {
      const rows = await runSql(
        url,
        `SELECT format('%s.%s %s %s', table_name, column_name, data_type, is_nullable) AS text FROM information_schema.columns
         WHERE table_schema = $1 AND table_name NOT IN ('steps', 'schedules', 'audit', 'workers') AND table_name !~ '^history_[0-9]'
         UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename <> 'workers' AND tablename !~ '^history_[0-9]'
         UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = to_regnamespace($1)
           AND (proname, pronargs) NOT IN (('work', 18), ('pick', 2))`, // processes of version 0.1.0 call them
        [schema],
      );
      const names = /"?\b(longshore|fresh)\b"?\.?/g; // not every one is written where it is in the search path
      return (rows as { text: string }[])
        .map(({ text }) => text.replaceAll(names, '').replace('steps_pkey', 'texts_pkey'))
        .sort();
    };
    expect(await of('longshore')).toEqual(await of('fresh'));
  });

  it.each([
    [9, /version 17, got 9: no release has made it/],
    [99, /version 17 or older, got 99: a newer Longshore has migrated it/],
  ])('refuses a schema of version %i', async (version, message) => {
    const { url } = database;
    await runSql(
      url,
      `CREATE SCHEMA longshore; CREATE TABLE longshore.longshore AS SELECT ${version} AS version`,
    );
    const backend = postgres(url);
    await expect(backend.migrate!()).rejects.toMatchObject({
      code: 'SCHEMA_VERSION',
      message: expect.stringMatching(message),
    });
    await backend.close();
  });

  it('that fails halfway leaves nothing, and succeeds when its obstacle is gone', async () => {
    const { url } = database;
    await runSql(url, 'CREATE SCHEMA longshore; CREATE TABLE longshore.keys (mine int)');
    const backend = postgres(url);
    await expect(backend.migrate!()).rejects.toThrow(/migrating: relation "keys" already exists/);
    expect(await contents('longshore')).toMatchObject([{ name: 'keys' }]);
    await runSql(url, 'DROP TABLE longshore.keys');
    expect(await backend.migrate!()).toMatchObject({ from: null });
    await backend.close();
  });

  it('takes its time, whatever statement_timeout and lock_timeout say', async () => {
    const { url } = database;
    await runSql(
      url,
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 30', current_database());
       EXECUTE format('ALTER DATABASE %I SET lock_timeout = 30', current_database()); END $$`,
    );
    const holder = new pg.Client(`${url}?options=${encodeURIComponent('-c statement_timeout=0')}`);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT pg_advisory_xact_lock(hashtextextended('longshore "longshore"', 0))`);
    const backend = postgres(url);
    const migrating = backend.migrate!();
    await until(
      async () =>
        (await runSql(url, `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length === 1,
    );
    await holder.query('SELECT pg_sleep(0.1)'); // longer than either
    await holder.end();
    expect(await migrating).toMatchObject({ from: null });
    await backend.close();
  });

  it('of one schema does not wait for that of another', async () => {
    const holder = new pg.Client(database.url);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT pg_advisory_xact_lock(hashtextextended('longshore "one"', 0))`);
    const [one, two] = ['one', 'two'].map((schema) => postgres({ url: database.url, schema }));
    const waiting = one!.migrate!();
    expect(await two!.migrate!()).toMatchObject({ from: null });
    await holder.query('COMMIT');
    expect(await waiting).toMatchObject({ from: null });
    await holder.end();
    await one!.close();
    await two!.close();
  });

  it('needs no right to create schemas where the schema is there already', async () => {
    // The owner of a database takes that right from himself: what remains is his schema.
    const { url } = database;
    await runSql(url, 'CREATE SCHEMA jobs');
    await runSql(
      url,
      `DO $$ BEGIN EXECUTE format('REVOKE CREATE ON DATABASE %I FROM longshore', current_database()); END $$`,
    );
    await expect(runSql(url, 'CREATE SCHEMA another')).rejects.toThrow(/permission denied/);
    const backend = postgres({ url, schema: 'jobs' });
    expect(await backend.migrate!()).toMatchObject({ from: null });
    expect(await backend.enqueue([message({ id: 'm' })])).toMatchObject([{ ok: true }]);
    await backend.close();
  });

  it('is a command', async () => {
    const cwd = project({
      'longshore.config.ts': `${imports}
import { postgres } from ${JSON.stringify(pathToFileURL(join(root, 'local/backends/postgres/index.ts')).href)};
export const app = createApp({ jobs: [defineJob({ name: 'job', payload: z.object({}), async handle() {} })] });
export const backend = () => postgres({ url: ${JSON.stringify(database.url)}, migrate: false });
`,
    });
    expect(await cli(cwd, ['reap'])).toMatchObject({ stderr: expect.stringContaining('longshore migrate') });
    const made = await cli(cwd, ['migrate']);
    expect(made).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^postgres went from version none to \d+\.\n$/),
    });
    expect((await cli(cwd, ['migrate'])).stdout).toMatch(/^postgres is at version \d+, nothing to do\.\n$/);
    expect((await cli(cwd, ['reap'])).code).toBe(0);
  });
});

describe('schemas', () => {
  it.each(['MyJobs', 'jobs_2', '_x', 'select', 'a'.repeat(40)])('may be called %s', async (schema) => {
    const backend = postgres({ url: database.url, schema, pollMs: 3_600_000 });
    const waiting = backend.fetch({ ...look, waitMs: 10_000 });
    await until(
      async () =>
        (
          await runSql(
            database.url,
            `SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN "longshore ${schema}"%'`,
          )
        ).length > 0,
    );
    const sender = postgres({ url: database.url, schema });
    await sender.enqueue([message({ id: 'm' })]);
    const [lease] = await waiting;
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    expect(await backend.stores!.records!.get('m')).toMatchObject({ status: 'completed' });
    expect(await backend.stores!.records!.purge()).toBe(0);
    await backend.close();
    await sender.close();
  });

  it('of one database do not disturb each other, whatever they share in names', async () => {
    const [one, two] = ['jobs', 'Jobs'].map((schema) =>
      postgres({ url: database.url, schema, pollMs: 3_600_000 }),
    );
    await one!.enqueue([message({ id: 'm', body: '1' })]);
    expect(await two!.fetch(look)).toEqual([]);
    expect(await two!.enqueue([message({ id: 'm', body: '2' })])).toMatchObject([
      { ok: true, duplicate: false },
    ]);
    const [ofOne] = await one!.fetch(look);
    const [ofTwo] = await two!.fetch(look);
    expect([ofOne!.body, ofTwo!.body]).toEqual(['1', '2']);
    expect(await two!.ack([{ lease: ofOne! }])).toEqual([false]);
    expect(await one!.ack([{ lease: ofOne! }])).toEqual([true]);
    const { keys } = one!.stores!;
    await keys!.claim('key', 'me', Date.now() + 60_000);
    expect(await two!.stores!.keys!.claim('key', 'you', Date.now() + 60_000)).toMatchObject({
      state: 'claimed',
    });

    // A waiters of the one is none of the other.
    const heard: string[] = [];
    const listener = new pg.Client(database.url);
    await listener.connect();
    listener.on('notification', ({ channel }) => heard.push(channel));
    await listener.query('LISTEN "longshore Jobs"');
    await one!.enqueue([message({ id: 'n' })]);
    await two!.enqueue([message({ id: 'n' })]);
    await until(() => heard.length > 0);
    expect(new Set(heard)).toEqual(new Set(['longshore Jobs']));
    await listener.end();
    await one!.close();
    await two!.close();
  });
});
