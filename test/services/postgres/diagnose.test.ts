/** What `longshore doctor` finds in a real Postgres: each check fires where it should, and says nothing of a database that is right. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { madeByMigrations } from '../../../local/backends/postgres/diagnose.ts';
import { type PostgresOptions, postgres, postgresStore } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { lookedAt, request } from '../diagnoses.ts';
import { type Cluster, standbySettings, startCluster } from './cluster.ts';
import { startBouncer } from './pgbouncer.ts';

let cluster: Cluster;
const ending: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  const settings = {
    ...standbySettings,
    wal_level: 'logical',
    max_prepared_transactions: '5',
    max_connections: '40',
  };
  cluster = await startCluster({ settings });
}, 60_000);
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});
afterAll(() => cluster.remove());

let schemas = 0;

/** A backend on a schema of its own, which is migrated. */
async function migrated(options: Partial<PostgresOptions> = {}) {
  const schema = `doctor_${++schemas}`;
  const url = options.url ?? cluster.url;
  const backend: QueueBackend = postgres({ ...(options.pool ? {} : { url }), schema, ...options });
  ending.push(() => backend.close());
  await backend.stores!.migrate!();
  return { schema, backend };
}
const foundIn = async ({ backend }: { backend: QueueBackend }) => (await lookedAt(backend.admin!)).found;

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  ending.push(() => client.end().catch(() => {}));
  return client;
}

async function sql(text: string, url = cluster.url): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text).finally(() => client.end());
}
const asSuperuser = (text: string) => {
  const url = new URL(cluster.superuserUrl);
  url.pathname = '/longshore';
  return sql(text, url.href);
};

/** Each is a transaction of its own. */
const burnTransactions = () =>
  sql('DO $$ BEGIN FOR i IN 1..100100 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$');

describe('a Postgres server', () => {
  it('with a migrated schema is told nothing, and every check is made', async () => {
    const { backend } = await migrated();
    expect(await lookedAt(backend.admin!)).toEqual({ found: {}, notChecked: {} });
    const store = postgresStore({ url: cluster.url, schema: 'doctor_store' });
    ending.push(() => store.close());
    await store.migrate();
    expect(await lookedAt(store)).toEqual({ found: {}, notChecked: {} });
  });

  it('without the tables is told so, and no table is made', async () => {
    const backend = postgres({ url: cluster.url, schema: 'doctor_none' });
    ending.push(() => backend.close());
    const { found, notChecked } = await lookedAt(backend.admin!);
    expect(found).toEqual({
      'postgres.schema': [expect.objectContaining({ text: 'It has no tables.', severity: 'error' })],
    });
    expect(Object.keys(notChecked)).toEqual(['postgres.indexes', 'postgres.days', 'postgres.outbox']);
  });

  it('is told of an index that is missing, and of one that was never finished', async () => {
    const t = await migrated();
    expect(madeByMigrations().indexes).toContain('ready_rank');
    await sql(`DROP INDEX ${t.schema}.ready_rank; ALTER TABLE ${t.schema}.jobs DROP CONSTRAINT jobs_pkey`);
    await sql(`INSERT INTO ${t.schema}.limit_holds VALUES ('a', 1), ('b', 1)`);
    const building = sql(`CREATE UNIQUE INDEX CONCURRENTLY twice ON ${t.schema}.limit_holds (until)`);
    await expect(building).rejects.toThrow(/could not create unique index/);
    const { 'postgres.indexes': found } = await foundIn(t);
    expect(found!.map(({ text }) => /The (index \w+|.*key of \w+) is (\w+)/.exec(text)!.slice(1))).toEqual([
      ['index ready_rank', 'missing'],
      ['index the primary key of jobs', 'missing'],
      ['index twice', 'invalid'],
    ]);
  });

  it("is told of tomorrow's missing table, and who may make it", async () => {
    const t = await migrated();
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');
    await sql(`DROP TABLE ${t.schema}.history_${tomorrow}`);
    const where = `table "${t.schema}".history_${tomorrow}`;
    expect((await foundIn(t))['postgres.days']).toMatchObject([
      { where, remedy: expect.stringMatching(/migrate\.$/) },
    ]);
    await asSuperuser("CREATE ROLE app LOGIN PASSWORD 'app'");
    await sql(
      `GRANT USAGE ON SCHEMA ${t.schema} TO app; GRANT SELECT ON ALL TABLES IN SCHEMA ${t.schema} TO app`,
    );
    const url = new URL(cluster.url);
    Object.assign(url, { username: 'app', password: 'app' });
    const backend = postgres({ url: url.href, schema: t.schema, migrate: false });
    ending.push(() => backend.close());
    expect((await foundIn({ backend }))['postgres.days']).toMatchObject([
      { where, remedy: expect.stringContaining('as longshore') },
    ]);
  });

  it('is told of a table that a publication would stop', async () => {
    const t = await migrated();
    await sql(`ALTER TABLE ${t.schema}.ready REPLICA IDENTITY DEFAULT`);
    await asSuperuser(`CREATE PUBLICATION everything FOR ALL TABLES`);
    ending.push(() => asSuperuser('DROP PUBLICATION everything'));
    expect((await foundIn(t))['postgres.publication']).toMatchObject([
      { where: `table "${t.schema}".ready`, severity: 'error' },
    ]);
  });

  it('that takes no writes is told so', async () => {
    const t = await migrated();
    await asSuperuser('ALTER ROLE longshore SET default_transaction_read_only = on');
    ending.push(() => asSuperuser('ALTER ROLE longshore RESET default_transaction_read_only'));
    const backend = postgres({ url: cluster.url, schema: t.schema });
    ending.push(() => backend.close());
    expect(Object.keys(await foundIn({ backend }))).toEqual(['postgres.read-only']);
    await t.backend.admin!.probe!();
    await expect(backend.admin!.probe!()).rejects.toMatchObject({ code: 'READ_ONLY' });
  });

  it('that is away is not taken for a pooler', async () => {
    const backend = postgres('postgres://longshore@127.0.0.1:1/longshore');
    ending.push(() => backend.close());
    const check = (await backend.admin!.diagnose!(request())).find(({ id }) => id === 'postgres.pooler')!;
    await expect(check.look()).rejects.toMatchObject({ code: 'BACKEND' });
  });

  it('is told of autovacuum that is off for a table', async () => {
    const t = await migrated();
    await sql(`ALTER TABLE ${t.schema}.ready SET (autovacuum_enabled = false)`);
    expect(await foundIn(t)).toMatchObject({
      'postgres.autovacuum': [{ where: `table "${t.schema}".ready`, severity: 'error' }],
    });
  });

  it('is told of rows that nobody has vacuumed, and of indexes that stay large', async () => {
    const t = await migrated();
    const client = await session(cluster.url);
    await client.query(`ALTER TABLE ${t.schema}.ready SET (autovacuum_enabled = false)`);
    await client.query(
      `INSERT INTO ${t.schema}.ready SELECT 'default', i, i, i, i::text FROM generate_series(1, 900000) i`,
    );
    await client.query(`DELETE FROM ${t.schema}.ready`);
    await client.end();
    const found = await until(async () => {
      const all = await foundIn(t);
      return all['postgres.vacuum'] && all;
    });
    expect(found['postgres.vacuum']).toEqual([
      expect.objectContaining({
        where: `table "${t.schema}".ready`,
        text: expect.stringMatching(/^900000 dead rows beside 0 live ones, and it has never been vacuumed/),
      }),
    ]);
    expect(found['postgres.bloat']).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/^It has \d+ MB for 0 rows/) }),
    ]);
  });

  it('is told of transactions, slots and prepared transactions that hold vacuum back', async () => {
    const t = await migrated();
    // It would wait for transactions that are open.
    await asSuperuser("SELECT pg_create_logical_replication_slot('unread', 'pgoutput')");
    ending.push(() => asSuperuser("SELECT pg_drop_replication_slot('unread')"));
    const open = await session(cluster.url);
    await open.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await open.query('SELECT count(*) FROM pg_class');
    await sql("BEGIN; CREATE TABLE held (); PREPARE TRANSACTION 'forgotten'");
    ending.push(() => sql("ROLLBACK PREPARED 'forgotten'"));
    expect((await foundIn(t))['postgres.xmin']).toBeUndefined();
    await burnTransactions();
    const { 'postgres.xmin': found } = await foundIn(t);
    expect(found!.map(({ where, severity }) => [where.replace(/\d+ .*/, ''), severity])).toEqual(
      expect.arrayContaining([
        ['session ', 'warning'],
        ['prepared transaction forgotten', 'warning'],
        ['replication slot unread', 'warning'],
      ]),
    );
    expect(found).toHaveLength(3);
  });

  it('says that it may not look at the sessions of others', async () => {
    const { backend } = await migrated();
    const other = await session(cluster.superuserUrl);
    await other.query('SELECT 1');
    const inDatabase = new URL(cluster.superuserUrl);
    inDatabase.pathname = '/longshore';
    await (await session(inDatabase.href)).query('SELECT 1');
    const { notChecked } = await lookedAt(backend.admin!);
    expect(notChecked).toEqual({ 'postgres.xmin': expect.stringMatching(/GRANT pg_read_all_stats/) });
  });

  it('that commits before it has written is told so', async () => {
    const t = await migrated();
    await sql('ALTER ROLE longshore SET synchronous_commit = off');
    try {
      const backend = postgres({ url: cluster.url, schema: t.schema });
      ending.push(() => backend.close());
      expect(await foundIn({ backend })).toMatchObject({ 'postgres.commit': [{ severity: 'warning' }] });
    } finally {
      await sql('ALTER ROLE longshore RESET synchronous_commit');
    }
  });

  it('whose connections are nearly used up is told so', async () => {
    const t = await migrated();
    for (let i = 0; i < 29; i++) await session(cluster.url);
    expect((await foundIn(t))['postgres.connections']).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/of its 37 connections are in use/) }),
    ]);
  });

  it('with a pool that is too small to listen is told so', async () => {
    const pool = new pg.Pool({ connectionString: cluster.url, max: 2 });
    ending.push(() => pool.end());
    const t = await migrated({ pool });
    expect(await foundIn(t)).toMatchObject({
      'postgres.pool': [{ text: expect.stringMatching(/^It has at most 2 connections/) }],
    });
    expect(await foundIn(await migrated({ pool, listen: false }))).toEqual({});
  });

  it('that keeps records for less long than keys is told so', async () => {
    const { backend } = await migrated({ retention: { completedMs: 0 } });
    const { found } = await lookedAt(backend.admin!, request({ keysKeptMs: 86_400_000 }));
    expect(Object.keys(found)).toEqual(['postgres.retention']);
  });

  it('is told of an outbox that nobody relays, and of what its target has refused', async () => {
    const t = await migrated();
    await sql(
      `INSERT INTO ${t.schema}.outbox (target, written_at, message) VALUES ('sqs', 0, '{}');
       INSERT INTO ${t.schema}.outbox_refused VALUES (1, 'sqs', 'a', 'q', 0, 0, 'no', '{}')`,
    );
    expect((await foundIn(t))['postgres.outbox']!.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^A message has waited in it for \d+ min/),
      expect.stringMatching(/^1 messages were refused/),
    ]);
  });

  it('behind a pooler that shares connections is told so, unless nobody listens', async () => {
    const bouncer = await startBouncer(cluster.url);
    ending.push(() => bouncer.stop());
    expect(await foundIn(await migrated({ url: bouncer.url }))).toMatchObject({
      'postgres.pooler': [{ text: expect.stringMatching(/^A notification did not come back/) }],
    });
    expect(await foundIn(await migrated({ url: bouncer.url, listen: false }))).toEqual({});
  }, 60_000);
});

describe('another Postgres server', () => {
  it('that is a standby, or may damage its data, is told so', async () => {
    const own = await startCluster({ fsync: false, settings: standbySettings });
    ending.push(() => own.remove());
    const primary = postgres({ url: own.url, schema: 'doctor' });
    await primary.migrate!();
    expect(await foundIn({ backend: primary })).toMatchObject({
      'postgres.fsync': [{ text: expect.stringMatching(/^fsync and full_page_writes off/) }],
    });
    await primary.close();
    const superuser = await session(own.superuserUrl);
    const { rows } = await superuser.query('SHOW data_directory');
    await superuser.end();
    await own.stop();
    await writeFile(join(rows[0].data_directory, 'standby.signal'), '');
    await own.start();
    const backend = postgres({ url: own.url, schema: 'doctor', migrate: false });
    ending.push(() => backend.close());
    expect((await foundIn({ backend }))['postgres.standby']).toHaveLength(1);
  }, 60_000);
});
