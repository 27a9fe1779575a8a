/** How numbers lie in the table: what they cost, and when they go. */

import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { MetricRow, MetricStore } from '../../../core/contract/derived/metrics.ts';
import { createDynamoTable, dynamoStore } from '../../../functions/aws/dynamo/index.ts';
import { type DynamoServer, startDynamo } from '../../kit/servers/dynamo-server.ts';

const TableName = 'numbers';
const day = 86_400_000;
const at = Date.UTC(2026, 0, 31);
let server: DynamoServer;
let client: DynamoDBClient;
let numbers: MetricStore;
let sent: string[] = [];

beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  server = await startDynamo();
  client = new DynamoDBClient({ endpoint: server.endpoint, region: 'eu-central-1' });
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        sent.push(commandName!);
        return next(args);
      },
    {},
  );
  await createDynamoTable({ table: TableName, client });
  numbers = dynamoStore({ table: TableName, client }).metrics!;
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

const row = (change: Partial<MetricRow> = {}): MetricRow => ({
  step: 'minute',
  at,
  queue: 'mail',
  job: 'send',
  source: 'w1',
  body: '{"done":1}',
  ...change,
});

async function item(pk: string) {
  const { Item } = await client.send(new GetItemCommand({ TableName, Key: { pk: { S: pk } } }));
  return Item;
}

it('a row is an item that expires when its step is not kept any longer', async () => {
  await numbers.write((['minute', 'hour', 'day'] as const).map((step) => row({ step })));
  // A day longer than a roll-up leaves them.
  const kept = { minute: 4 * day, hour: 41 * day, day: 401 * day };
  for (const [step, keepMs] of Object.entries(kept)) {
    const found = await item(`text#metric/${step} 000${at} mail send w1`);
    expect(found?.expiresAt).toEqual({ N: String((at + keepMs) / 1000) });
    expect(found?.state).toEqual({ S: '{"done":1}' });
  }
});

it('a row that is written over changes nothing that stands in the index', async () => {
  const pk = `text#metric/minute 000${at} mail send w1`;
  await numbers.write([row()]);
  const { state: _, version: __, ...before } = (await item(pk))!;
  await numbers.write([row({ body: '{"done":2}' })]);
  const { state, version, ...after } = (await item(pk))!;
  expect(state).toEqual({ S: '{"done":2}' });
  expect(version).toBeDefined();
  expect(after).toEqual(before);
});

it('lists of jobs and workers know nothing of numbers', async () => {
  await numbers.write([row()]);
  const { records, workers } = dynamoStore({ table: TableName, client });
  expect((await records.page({})).records).toEqual([]);
  expect(await workers.list(0)).toEqual([]);
});

it('a write needs PutItem only, a read asks each partition once and reads a hundred rows at a time', async () => {
  const rows = Array.from({ length: 250 }, (_, n) => row({ at: at + 1, source: `worker-${n}` }));
  sent = [];
  await numbers.write(rows);
  expect(new Set(sent)).toEqual(new Set(['PutItemCommand']));
  sent = [];
  expect(await numbers.read({ step: 'minute', from: at + 1, to: at + 2 })).toHaveLength(250);
  expect(
    Object.entries(Object.groupBy(sent, (name) => name)).map(([name, all]) => [name, all!.length]),
  ).toEqual([
    ['QueryCommand', 8],
    ['BatchGetItemCommand', 3],
  ]);
});

it('rows are spread over the partitions', async () => {
  const shards = Array.from({ length: 8 }, (_, shard) => `texts#${shard}`);
  const counts = await Promise.all(
    shards.map(async (shelf) => {
      const query = {
        TableName,
        IndexName: 'shelves',
        KeyConditionExpression: 'shelf = :shelf',
        ExpressionAttributeValues: { ':shelf': { S: shelf } },
      };
      return (await client.send(new QueryCommand(query))).Count!;
    }),
  );
  expect(Math.min(...counts)).toBeGreaterThan(10);
});

it('a purge leaves the removing to DynamoDB', async () => {
  sent = [];
  expect(await numbers.purge('minute', at + 10 * day)).toBe(0);
  expect(sent).toEqual([]);
});
