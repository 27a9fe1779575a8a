/**
 * Writes what a release stores: `node test/kit/stored/everything/write.ts BACKEND FOLDER`, where BACKEND is sqlite, postgres, redis,
 * dynamo, or table. Copy this folder into a checkout of the release (and correct the paths of imports that the release has elsewhere).
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { createClient, RESP_TYPES } from '@redis/client';
import type { Contract } from '../../../../core/index.ts';
import { createDynamoTable, dynamoStore } from '../../../../functions/aws/index.ts';
import { tableStore } from '../../../../functions/azure/index.ts';
import { memory } from '../../../../local/backends/memory/index.ts';
import { outbox, postgres } from '../../../../local/backends/postgres/index.ts';
import { redis } from '../../../../local/backends/redis/index.ts';
import { sqlite } from '../../../../local/backends/sqlite/index.ts';
import { startCluster } from '../../../services/postgres/cluster.ts';
import { startRedis } from '../../../services/redis/server.ts';
import { startAzurite } from '../../servers/azurite.ts';
import { startDynamo } from '../../servers/dynamo-server.ts';
import { clockFrom, leaveEverything, leaveOutbox, storedAt } from './app.ts';

const [kind, folder = '.'] = process.argv.slice(2);
/** Errors are stored with their stack, which would name folders of this machine. */
Error.stackTraceLimit = 0;

mkdirSync(folder, { recursive: true });
const clock = clockFrom(storedAt);
const write = (name: string, ending: 'sql' | 'json', lines: readonly string[]) =>
  writeFileSync(join(folder, `${name}.${ending}`), `${lines.join('\n')}\n`);
const jsonLines = (rows: readonly unknown[]) => [
  '[',
  rows.map((row) => JSON.stringify(row)).join(',\n'),
  ']',
];

/** The file of a queue, and the SQL text that makes it again. */
function sqliteFile() {
  const path = join(mkdtempSync(join(tmpdir(), 'stored-')), 'jobs.db');
  return { path, text: () => sqlOf(path) };
}

function sqlOf(path: string): string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const get = (sql: string) => Object.values(db.prepare(sql).get()!)[0];
  const tables = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    )
    .all() as { type: string; name: string; sql: string }[];
  const lines = ['application_id', 'user_version'].map(
    (name) => `PRAGMA ${name} = ${get(`PRAGMA ${name}`)};`,
  );
  for (const { type, name, sql } of tables) {
    lines.push(`${sql};`);
    if (type !== 'table') continue;
    const columns = db
      .prepare(`PRAGMA table_info("${name}")`)
      .all()
      .map(({ name }) => `"${name}"`);
    const quoted = columns.map((column) => `quote(${column})`).join(` || ', ' || `);
    for (const row of db.prepare(`SELECT ${quoted} AS line FROM "${name}"`).all())
      lines.push(`INSERT INTO "${name}" (${columns.join(', ')}) VALUES (${row.line});`);
  }
  return lines;
}

/** Text as it is, anything else as `base64:…`. */
function readable(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : `base64:${bytes.toString('base64')}`;
}

async function redisCommands(url: string): Promise<string[][]> {
  const client = createClient({ url, RESP: 2 });
  await client.connect();
  const typed = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const call = async (...args: string[]): Promise<string[]> => {
    const answer = (await typed.sendCommand(args)) as unknown;
    return [answer].flat().map((one) => (Buffer.isBuffer(one) ? readable(one) : String(one)));
  };
  const readers: Record<string, (key: string) => Promise<string[]>> = {
    string: async (key) => ['SET', key, ...(await call('GET', key))],
    hash: async (key) => ['HSET', key, ...(await call('HGETALL', key))],
    set: async (key) => ['SADD', key, ...(await call('SMEMBERS', key))],
    list: async (key) => ['RPUSH', key, ...(await call('LRANGE', key, '0', '-1'))],
    async zset(key) {
      const pairs = await call('ZRANGE', key, '0', '-1', 'WITHSCORES');
      return ['ZADD', key, ...pairs.flatMap((member, i) => (i % 2 === 0 ? [pairs[i + 1]!, member] : []))];
    },
  };
  const commands: string[][] = [];
  for (const key of (await call('KEYS', '*')).sort()) {
    const [type] = await call('TYPE', key);
    commands.push(await readers[type!]!(key));
    const [leftMs] = await call('PTTL', key);
    if (Number(leftMs) > 0) commands.push(['PEXPIRE', key, leftMs!]);
  }
  client.destroy();
  return commands;
}

async function leave(backend: Contract.QueueBackend, store?: Contract.Stores): Promise<void> {
  await leaveEverything(backend, store, clock);
}

if (kind === 'sqlite') {
  const file = sqliteFile();
  await leave(sqlite({ path: file.path, clock }));
  write('sqlite', 'sql', file.text());
}
if (kind === 'postgres') {
  const { url, remove } = await startCluster({ fsync: false });
  await leave(postgres({ url, clock }));
  // Rows that no relay has moved.
  const rows = outbox(postgres({ url, clock }), { to: memory({ clock }), clock });
  await leaveOutbox(rows, clock);
  const options = [
    '--inserts',
    '--rows-per-insert=1',
    '--no-owner',
    '--no-privileges',
    '--schema',
    'longshore',
    url,
  ];
  const dump = execFileSync('pg_dump', options, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  // Without what only psql or a newer server understands.
  write(
    'postgres',
    'sql',
    dump.split('\n').filter((line) => !/^(--|\\|SET (?!check_function_bodies)|$)/.test(line)),
  );
  await remove();
}
if (kind === 'redis') {
  const { url, remove } = await startRedis();
  await leave(redis({ url, clock }));
  write('redis', 'json', jsonLines(await redisCommands(url)));
  await remove();
}
if (kind === 'dynamo') {
  const { endpoint } = await startDynamo();
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new DynamoDBClient({ endpoint, region: 'eu-central-1', credentials });
  const where = { table: 'stored', client };
  await createDynamoTable(where);
  const file = sqliteFile();
  await leave(sqlite({ path: file.path, clock }), dynamoStore({ ...where, clock }));
  const items: Record<string, unknown>[] = [];
  let from: Record<string, never> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({ TableName: 'stored', ...(from && { ExclusiveStartKey: from }) }),
    );
    items.push(...(page.Items ?? []));
    from = page.LastEvaluatedKey as never;
  } while (from);
  write('dynamo', 'json', jsonLines(items));
  write('dynamo-queue', 'sql', file.text());
}
if (kind === 'table') {
  const { connectionString, close } = await startAzurite();
  const where = { table: 'stored', connectionString };
  const file = sqliteFile();
  const store = tableStore({ ...where, clock });
  await store.migrate();
  await leave(sqlite({ path: file.path, clock }), store);
  const entities: unknown[] = [];
  const client = TableClient.fromConnectionString(connectionString, 'stored', {
    allowInsecureConnection: true,
  });
  for await (const { etag, timestamp, ...entity } of client.listEntities()) entities.push(entity);
  write('table', 'json', jsonLines(entities));
  write('table-queue', 'sql', file.text());
  await close();
}
process.exit(0); // as if it were killed: its worker has two jobs
