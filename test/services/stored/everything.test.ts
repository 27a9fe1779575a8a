/** What version 0.1.0 has left in each store goes on with today's code: Redis is in redis.test.ts, which needs a server. */

import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { TableClient } from '@azure/data-tables';
import { expect, it } from 'vitest';
import { connect, keyRing, startWorker } from '../../../core/index.ts';
import { createDynamoTable, dynamoStore } from '../../../functions/aws/dynamo/index.ts';
import { tableStore } from '../../../functions/azure/table/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { outbox, postgres, startRelay } from '../../../local/backends/postgres/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { startDynamo } from '../../kit/servers/dynamo-server.ts';
import { shared } from '../../kit/shared/shared.ts';
import { clockFrom, everythingApp, hourMs, signingKeys, storedAt } from '../../kit/stored/everything/app.ts';
import { goOn } from '../../kit/stored/everything/go-on.ts';
import { jsonText, sqliteFile, sqlText } from '../../kit/stored/everything/restore.ts';
import { lookedAt } from '../diagnoses.ts';
import { runSql } from '../postgres/load.ts';
import { freshDatabase } from '../postgres/schemas.ts';

it('in Postgres', async () => {
  const { url, drop } = await freshDatabase();
  await runSql(url, await sqlText('postgres.sql'));
  await goOn(async (clock) => ({ backend: postgres({ url, clock }) }));
  await drop();
});

it('in the outbox of a Postgres database', async () => {
  const { url, drop } = await freshDatabase();
  await runSql(url, await sqlText('postgres.sql'));
  const clock = clockFrom(storedAt + hourMs);
  const ran: string[] = [];
  const story = { act: (what: string) => void ran.push(what), holds: () => false, notified: () => {} };
  const { app } = everythingApp({ clock, ...story, newId: () => 'new', signing: keyRing(signingKeys) });
  const source = postgres({ url, clock });
  await source.stores!.migrate?.();
  const backend = outbox(source, { to: memory({ clock }), clock });
  const client = connect(app, backend);
  const relay = startRelay(backend, { clock }); // rows of that version have no id, so nobody finds them before they are moved
  await expect.poll(async () => (await backend.admin!.stats('images'))[0]?.ready).toBe(2);
  await startWorker(app, { backend, queues: ['images'], untilIdle: true, concurrency: 1 }).done;
  expect(ran).toEqual(['first row', 'second row']);
  await relay.stop();
  await client.close();
  await drop();
});

it('in DynamoDB, beside a queue', async () => {
  const { endpoint, close } = await startDynamo();
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }; // the server takes any
  const requestHandler = { requestTimeout: 0 };
  const client = new DynamoDBClient({ endpoint, region: 'eu-central-1', credentials, requestHandler });
  const where = { table: 'stored', client };
  await createDynamoTable(where);
  for (const Item of await jsonText<Record<string, never>>('dynamo.json'))
    await client.send(new PutItemCommand({ TableName: 'stored', Item }));
  const { path, remove } = await sqliteFile('dynamo-queue.sql');
  const problems = async () => Object.keys((await lookedAt(dynamoStore(where))).found);
  expect(await problems()).toContain('dynamo.version');
  await goOn(async (clock) => {
    const store = dynamoStore({ ...where, clock });
    await store.migrate();
    return { backend: sqlite({ path, clock }), store };
  });
  expect(await problems()).not.toContain('dynamo.version');
  await remove();
  client.destroy();
  await close();
});

it('in Table storage, beside a queue', async () => {
  const { connectionString } = await shared('azurite');
  const where = { table: 'stored', connectionString };
  const client = TableClient.fromConnectionString(connectionString, where.table, {
    allowInsecureConnection: true,
  });
  await client.createTable();
  for (const entity of await jsonText<{ partitionKey: string; rowKey: string }>('table.json'))
    await client.createEntity(entity);
  const { path, remove } = await sqliteFile('table-queue.sql');
  await goOn(async (clock) => {
    const store = tableStore({ ...where, clock });
    await store.migrate();
    return { backend: sqlite({ path, clock }), store };
  });
  await remove();
});
