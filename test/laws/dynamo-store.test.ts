import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { createDynamoTable, dynamoStore } from '../../functions/aws/dynamo/index.ts';
import { type DynamoServer, startDynamo } from '../kit/servers/dynamo-server.ts';
import { pair } from '../kit/stores.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';

let server: DynamoServer;
let tables = 0;

beforeAll(async () => {
  // Of nobody: the server takes any, but the SDK will not send without them.
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  server = await startDynamo();
});
afterAll(() => server.close());

const harness: StoreHarness = {
  lacks: ['purges of numbers', 'ends', 'purges of steps'],
  async open(clock, options) {
    const where = { table: `laws-${++tables}`, endpoint: server.endpoint, region: 'eu-central-1' };
    await createDynamoTable(where);
    return pair(() => dynamoStore({ ...where, clock, ...options }));
  },
};

describeStoreAlone('dynamoStore()', harness, { describe, it });
