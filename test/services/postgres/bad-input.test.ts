/** What people and their databases get wrong: each has its own clear error, and none shows a password. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { type PostgresOptions, postgres } from '../../../local/backends/postgres/index.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { runSql } from './load.ts';

const secret = 's3cr3t-pa55word';
const look = { queues: ['default'], max: 10, leaseMs: 30_000, waitMs: 0 };

let cluster: Cluster;
let ownerUrl: string;
let schemas = 0;
const newSchema = (): string => `s${++schemas}`;

beforeAll(async () => {
  cluster = await startCluster({ fsync: false });
  ownerUrl = cluster.url;
  const superuser = inDatabase(cluster.superuserUrl, 'longshore');
  await runSql(superuser, `CREATE ROLE guest LOGIN PASSWORD '${secret}'`);
  await runSql(superuser, `CREATE ROLE single LOGIN PASSWORD '${secret}' CONNECTION LIMIT 0`);
}, 120_000);
afterAll(() => cluster.remove());

function inDatabase(url: string, database: string): string {
  const own = new URL(url);
  own.pathname = database;
  return own.href;
}

function withParts(
  parts: Partial<Pick<URL, 'hostname' | 'port' | 'username' | 'password' | 'pathname'>>,
): string {
  return Object.assign(new URL(ownerUrl), { password: secret, ...parts }).href;
}

const as = (user: string): string => withParts({ username: user });

/** With settings of the session, as a URL can carry them. */
const withSettings = (settings: string): string => `${ownerUrl}?options=${encodeURIComponent(settings)}`;

async function failureOf(work: () => unknown): Promise<Error & { code: string }> {
  try {
    await work();
  } catch (error) {
    return error as Error & { code: string };
  }
  throw new Error('Expected a failure, got none.');
}

function expectNoSecret(error: unknown): void {
  const all = `${inspect(error, { depth: null, showHidden: true })} ${(error as Error).message} ${JSON.stringify(error)}`;
  expect(all).not.toContain(secret);
  expect(all).not.toContain(encodeURIComponent(secret));
}

describe('postgres() refuses at once', () => {
  const url = `postgres://user:${secret}@127.0.0.1:5432/jobs`;
  const pool = new pg.Pool();
  const cases: [name: string, options: PostgresOptions | string, message: RegExp][] = [
    ['no URL', '', /either the URL of a database or a pool/],
    ['neither URL nor pool', {}, /either the URL of a database or a pool/],
    ['both', { url, pool }, /either the URL of a database or a pool/],
    ['a text that is no URL', secret, /a URL like postgres:\/\//],
    ['another scheme', `mysql://user:${secret}@127.0.0.1/jobs`, /a URL like postgres:\/\//],
    ['a port that is no number', `postgres://user:${secret}@127.0.0.1:port/jobs`, /a URL like postgres:\/\//],
    ['a password that is not escaped', `postgres://user:#${secret}@127.0.0.1/jobs`, /%23/],
    ['a certificate that is missing', `${url}?sslrootcert=/no/such/file`, /a URL like postgres:\/\//],
    ['a schema with a quote', { url, schema: 'a"b' }, /schema to be a name/],
    ['a schema with a space', { url, schema: 'a b' }, /schema to be a name/],
    ['a schema without a name', { url, schema: '' }, /schema to be a name/],
    ['a schema that begins with a digit', { url, schema: '1st' }, /schema to be a name/],
    ['a schema of the system', { url, schema: 'pg_jobs' }, /schema to be a name/],
    ['a schema with too long a name', { url, schema: 'a'.repeat(41) }, /schema to be a name/],
    ['a poll without a pause', { url, pollMs: 0 }, /pollMs/],
  ];

  it.each(cases)('%s', async (_name, options, expected) => {
    const error = await failureOf(() => postgres(options));
    expect(error).toMatchObject({ name: 'LongshoreError', code: expect.stringMatching(/^(CONFIG|OPTION)$/) });
    expect(error.message).toMatch(expected);
    expectNoSecret(error);
  });
});

describe('the first use of postgres() fails clearly with', () => {
  async function closedPort(): Promise<string> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    return String(port);
  }

  const cases: [name: string, url: () => string | Promise<string>, code: string, message: RegExp][] = [
    [
      'a host that does not exist',
      () => withParts({ hostname: 'no-such-host.invalid' }),
      'BACKEND',
      /no-such-host/,
    ],
    [
      'a port where nobody listens',
      async () => withParts({ port: await closedPort() }),
      'BACKEND',
      /Check that the server runs/,
    ],
    ['an unknown user', () => as('nobody'), 'CONFIG', /user and password/],
    ['a wrong password', () => as('longshore'), 'CONFIG', /user and password/],
    ['an unknown database', () => inDatabase(ownerUrl, 'missing'), 'CONFIG', /Create the database/],
    [
      'a user without connections left',
      () => as('single'),
      'BACKEND',
      /too many connections.*max_connections/,
    ],
    [
      'a user who may not create the schema',
      () => as('guest'),
      'CONFIG',
      /permission denied.*longshore migrate/,
    ],
    [
      'a database that is read only',
      () => withSettings('-c default_transaction_read_only=on'),
      'READ_ONLY',
      /primary/,
    ],
  ];

  it.each(cases)('%s', async (_name, makeUrl, code, expected) => {
    const backend = postgres({ url: await makeUrl(), schema: newSchema() });
    const [sent] = await backend.enqueue([message({ id: 'm' })]);
    const failures = [
      sent!.ok ? null : sent!.error,
      await failureOf(() => backend.fetch(look)),
      await failureOf(() => backend.admin!.stats()),
      await failureOf(() => backend.stores!.keys!.claim('key', 'owner', Date.now() + 1_000)),
      await failureOf(() => backend.migrate!()),
    ];
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: 'LongshoreError', code });
      expect(failure!.message).toMatch(expected);
      expectNoSecret(failure);
    }
    await backend.close();
  });

  it('a server that speaks something else', async () => {
    const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const backend = postgres(withParts({ port: String(port) }));
    expect(await failureOf(() => backend.fetch(look))).toMatchObject({ code: 'BACKEND' });
    await backend.close();
    server.close();
  });
});

describe('a user who owns nothing', () => {
  async function migrated(): Promise<string> {
    const schema = newSchema();
    const owner = postgres({ url: ownerUrl, schema });
    await owner.migrate!();
    await owner.close();
    return schema;
  }

  it.each([
    ['may not use the schema', ''],
    ['may use the schema and not the tables', 'GRANT USAGE ON SCHEMA'],
  ])('and %s is told so', async (_name, grant) => {
    const schema = await migrated();
    if (grant !== '') await runSql(ownerUrl, `${grant} ${schema} TO guest`);
    const backend = postgres({ url: as('guest'), schema });
    const error = await failureOf(() => backend.fetch(look));
    expect(error).toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(/permission denied.*Grant this user/),
    });
    await backend.close();
  });

  it('works with the rights on tables and sequences alone', async () => {
    const schema = await migrated();
    await runSql(ownerUrl, `GRANT USAGE ON SCHEMA ${schema} TO guest`);
    await runSql(ownerUrl, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO guest`);
    await runSql(ownerUrl, `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO guest`);
    const backend = postgres({ url: as('guest'), schema });
    expect(await backend.enqueue([message({ id: 'm' })])).toMatchObject([{ ok: true }]);
    const [lease] = await backend.fetch(look);
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    await backend.close();
  });
});

describe('a schema whose version', () => {
  afterEach(() => vi.unstubAllEnvs());

  async function atVersion(version: number | null): Promise<string> {
    const schema = newSchema();
    if (version === null) return schema;
    const backend = postgres({ url: ownerUrl, schema });
    await backend.migrate!();
    await backend.close();
    await runSql(ownerUrl, `UPDATE ${schema}.longshore SET version = $1`, [version]);
    return schema;
  }

  it.each([
    ['is newer is refused, even by who may migrate', 99, true, /version 99|got 99.*Upgrade this process/],
    ['is newer is refused', 99, false, /got 99.*Upgrade this process/],
    ['is older is refused by who may not migrate', 10, false, /got version 10\. Run `longshore migrate`/],
    ['is none is refused by who may not migrate', null, false, /got no tables\. Run `longshore migrate`/],
  ])('%s', async (_name, version, migrate, expected) => {
    const backend = postgres({ url: ownerUrl, schema: await atVersion(version), migrate });
    const failure = { code: 'SCHEMA_VERSION', message: expect.stringMatching(expected) };
    expect(await failureOf(() => backend.fetch(look))).toMatchObject(failure);
    expect(await backend.enqueue([message({ id: 'm' })])).toMatchObject([{ ok: false, error: failure }]);
    await backend.close();
  });

  it('is none is not migrated in production; and who waits for it goes on when it is', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const schema = newSchema();
    const backend = postgres({ url: ownerUrl, schema });
    expect(await failureOf(() => backend.fetch(look))).toMatchObject({ code: 'SCHEMA_VERSION' });
    const other = postgres({ url: ownerUrl, schema });
    expect(await other.migrate!()).toMatchObject({ from: null });
    await other.close();
    expect(await backend.fetch(look)).toEqual([]);
    await backend.close();
  });

  it('is gone, because somebody has dropped the schema, is missed clearly', async () => {
    const schema = newSchema();
    const backend = postgres({ url: ownerUrl, schema });
    expect(await backend.fetch(look)).toEqual([]);
    await runSql(ownerUrl, `DROP SCHEMA ${schema} CASCADE`);
    expect(await failureOf(() => backend.fetch(look))).toMatchObject({
      code: 'SCHEMA_VERSION',
      message: expect.stringMatching(/longshore migrate/),
    });
    await backend.close();
  });
});

it('a database that turns read only is reported, and used again when it can be written', async () => {
  const schema = newSchema();
  const settings = new pg.Pool({ connectionString: ownerUrl, max: 3 });
  const backend = postgres({ pool: settings, schema });
  const events: string[] = [];
  const job = defineJob({ name: 'job', payload: z.object({}), async handle() {} });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  app.events.on((event) => {
    if (event.type === 'backend.failed') events.push(event.error.code);
    if (event.type === 'backend.recovered') events.push('recovered');
  });
  await runSql(ownerUrl, 'ALTER DATABASE longshore SET default_transaction_read_only = on');
  try {
    const before = postgres({ url: ownerUrl, schema });
    await failureOf(() => before.fetch(look));
    await before.close();
    const worker = startWorker(app, { backend });
    await until(() => events.includes('READ_ONLY'));
    await runSql(
      ownerUrl,
      'BEGIN READ WRITE; ALTER DATABASE longshore RESET default_transaction_read_only; COMMIT',
    );
    await until(() => events.includes('recovered'));
    const { id } = await connect(app, backend).enqueue(job, {});
    await until(async () => (await connect(app, backend).status(id))?.status === 'completed');
    await worker.stop();
  } finally {
    await runSql(
      ownerUrl,
      'BEGIN READ WRITE; ALTER DATABASE longshore RESET default_transaction_read_only; COMMIT',
    );
  }
  await backend.close();
  await settings.end();
});

describe('text that Postgres cannot store', () => {
  it('is refused by itself, wherever it is, and its neighbours are stored', async () => {
    const backend = postgres({ url: ownerUrl, schema: newSchema() });
    const bad: Parameters<typeof message>[0][] = [
      { id: 'body', body: '"\0"' },
      { id: 'i\0d' },
      { id: 'queue', queue: 'q\0' },
      { id: 'job', job: 'j\0' },
      { id: 'tenant', tenantId: 't\0' },
    ];
    const results = await backend.enqueue([
      message({ id: 'a' }),
      ...bad.map(message),
      message({ id: 'b', body: '"\\u0000 \uD800"' }),
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([true, ...bad.map(() => false), true]);
    for (const result of results)
      if (!result.ok) expect(result.error).toMatchObject({ name: 'LongshoreError' });
    const leases = await backend.fetch(look);
    expect(leases.map(({ body }) => body).sort()).toEqual(['"\\u0000 \uFFFD"', '{}']);
    const report = {
      attempt: 1,
      startedAt: 1,
      endedAt: 2,
      outcome: 'dead-lettered',
      error: { code: 'X', message: 'a\0b' },
      output: null,
    } as const;
    expect(await backend.abandon(leases[0]!, { reason: 'permanent', error: 'a\0b', report })).toBe(true);
    expect(
      await backend.ack([
        { lease: leases[1]!, report: { ...report, outcome: 'acked', output: '"\\u0000"' } },
      ]),
    ).toEqual([true]);
    expect(await backend.admin!.deadLetters.list({})).toMatchObject([{ error: 'a\uFFFDb' }]);
    await backend.close();
  });

  it('passes through a payload, progress, output and an error of a handler', async () => {
    const backend = postgres({ url: ownerUrl, schema: newSchema() });
    const seen: string[] = [];
    const job = defineJob({
      name: 'job',
      payload: z.object({ text: z.string(), fail: z.boolean() }),
      maxRetries: 0,
      async handle({ text, fail }, ctx) {
        seen.push(text);
        await ctx.progress(1, 2, text);
        if (fail) throw new Error(text);
        return { text };
      },
    });
    const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
    const client = connect(app, backend);
    const ids = await client.enqueueMany(job, [
      { text: 'good \0 😀', fail: false },
      { text: 'bad \0 😀', fail: true },
    ]);
    await startWorker(app, { backend, untilIdle: true }).done;
    expect(seen.sort()).toEqual(['bad \0 😀', 'good \0 😀']);
    expect(await client.status(ids[0]!.id)).toMatchObject({ status: 'completed' });
    expect(await client.status(ids[1]!.id)).toMatchObject({ status: 'failed' });
    await backend.close();
  });

  it('makes different keys of different texts', async () => {
    const backend = postgres({ url: ownerUrl, schema: newSchema() });
    const { keys } = backend.stores!;
    const until = Date.now() + 60_000;
    for (const key of ['a\0', 'a', 'a\\0;', 'a\uD800', 'a\uD801', 'a\uFFFD', 'a\\', 'a😀'])
      expect(await keys!.claim(key, 'me', until)).toMatchObject({ state: 'claimed' });
    expect(await keys!.claim('a\0', 'you', until)).toMatchObject({ state: 'running' });
    expect(await keys!.complete('a\0', 'me', { value: null, keepUntil: until })).toBe(true);
    expect(await keys!.claim('a\0', 'you', until)).toMatchObject({ state: 'completed' });
    await backend.close();
  });
});
