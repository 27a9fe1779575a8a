/** A table in a DynamoDB of the test's own, in the test's time. */

import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../../core/base/clock.ts';
import { createDynamoTable, dynamoStore } from '../../../functions/aws/dynamo/index.ts';
import { startDynamo } from '../../kit/servers/dynamo-server.ts';

export const region = 'eu-central-1';
export const retention = { completedMs: 3_600_000, deadMs: 7_200_000 };

export type OpenTable = Awaited<ReturnType<typeof openTable>>;

export async function openTable(table: string, clock: Clock) {
  const server = await startDynamo();
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }; // the server takes any
  const client = new DynamoDBClient({ endpoint: server.endpoint, region, credentials });
  await createDynamoTable({ table, client });
  const stores = dynamoStore({ table, client, clock, retention });
  return {
    endpoint: server.endpoint,
    client,
    stores,
    writer: stores.records.writer!,
    async item(pk: string) {
      const { Item } = await client.send(new GetItemCommand({ TableName: table, Key: { pk: { S: pk } } }));
      return Item;
    },
    async close(): Promise<void> {
      client.destroy();
      await server.close();
    },
  };
}
