import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createDynamoTable, dynamoStore } from '../../functions/aws/dynamo/index.ts';
import { type DynamoServer, startDynamo } from '../kit/servers/dynamo-server.ts';
import { pair } from '../kit/stores.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';

let server: DynamoServer;
let client: DynamoDBClient;
let tables = 0;

beforeAll(async () => {
  server = await startDynamo();
  // Our own client gives a request 5 s. This server runs in the process of the laws, which may stand still for as long on a busy machine.
  client = new DynamoDBClient({
    endpoint: server.endpoint,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, // the server takes any
    requestHandler: { requestTimeout: 0 },
  });
});
afterAll(async () => {
  client.destroy();
  await server.close();
});

const harness: StoreHarness = {
  lacks: ['purges of numbers', 'ends', 'purges of steps'],
  async open(clock, options) {
    const where = { table: `laws-${++tables}`, client };
    await createDynamoTable(where);
    return pair(() => dynamoStore({ ...where, clock, ...options }));
  },
};

describeStoreAlone('dynamoStore()', harness, { describe, it });
describeTexts('dynamoStore()', harness, { describe, it });
