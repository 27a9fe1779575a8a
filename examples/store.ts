/** Where keys and records are when the queue keeps none: LONGSHORE_STORE. */

import type { Contract } from '../core/index.ts';
import { backendName, config, databaseUrl, dropSchema, type OpenOptions } from './open-options.ts';

type Stores = NonNullable<Contract.QueueBackend['stores']>;

const stores: Readonly<Record<string, (options: OpenOptions) => Promise<Stores>>> = {
  sqlite: async ({ path }) => (await import('../local/backends/sqlite/index.ts')).sqliteStore(path),
  memory: async () => (await import('../local/backends/memory/index.ts')).memoryStore(),
  postgres: async ({ schema = 'longshore', fresh = false }) => {
    const url = databaseUrl();
    const { postgresStore } = await import('../local/backends/postgres/index.ts');
    const store = postgresStore({ url, schema }); // first: it says what is wrong with a URL
    if (fresh) await dropSchema(url, schema);
    return store;
  },
  dynamodb: async ({ fresh = false }) => {
    const { DYNAMODB_ENDPOINT: endpoint, DYNAMODB_TABLE: table = 'longshore' } = process.env;
    const { dynamoStore } = await import('../functions/aws/index.ts');
    const { isOnThisMachine } = await import('../core/base/loopback.ts');
    if (!endpoint || !isOnThisMachine(endpoint))
      throw config(
        `Expected DYNAMODB_ENDPOINT to be a DynamoDB on this machine like http://127.0.0.1:8000, got ${endpoint || 'nothing'}.`,
      );
    const store = dynamoStore({ table: fresh ? `${table}-demo-${Date.now()}` : table, endpoint });
    await store.migrate();
    return store;
  },
};

const keepNone = ['sqs', 'servicebus'];

/** `undefined`: the backend keeps its own, or has been given it. Throws `CONFIG` for a store that the examples do not know. */
export async function exampleStore(
  options: OpenOptions,
  name: string = process.env.LONGSHORE_STORE || 'sqlite',
  backend: string = backendName(),
): Promise<Stores | undefined> {
  return keepNone.includes(backend) ? openStore(options, name) : undefined;
}

/** For a backend that takes its store itself. */
export async function openStore(
  options: OpenOptions,
  name: string = process.env.LONGSHORE_STORE || 'sqlite',
): Promise<Stores> {
  const open = Object.hasOwn(stores, name) ? stores[name] : undefined;
  if (open) return open(options);
  const names = Object.keys(stores).join(', ');
  throw config(`Expected LONGSHORE_STORE to be one of ${names}, got "${name}".`);
}
