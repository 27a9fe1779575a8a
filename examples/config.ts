/** Which queue the examples run on: LONGSHORE_BACKEND. The only file of the examples that knows backends by name. */

import type { App, Contract } from '../core/index.ts';
import { backendName, config, databaseUrl, dropSchema, type OpenOptions } from './open-options.ts';

/** Loaded on demand, so that a driver that is not installed only matters to those who ask for it. */
const backends: Readonly<Record<string, (app: App, options: OpenOptions) => Promise<Contract.QueueBackend>>> =
  {
    sqlite: async (_, { path }) => (await import('../local/backends/sqlite/index.ts')).sqlite(path),
    memory: async () => (await import('../local/backends/memory/index.ts')).memory(),
    sync: async (app) => (await import('../local/backends/sync.ts')).sync(app),
    postgres: async (_, { schema = 'longshore', fresh = false }) => {
      const url = databaseUrl();
      const { postgres } = await import('../local/backends/postgres/index.ts');
      const backend = postgres({ url, schema }); // first: it says what is wrong with a URL
      if (fresh) await dropSchema(url, schema);
      return backend;
    },
    sqs: async (app, { prefix = 'longshore-', fresh = false }) => {
      const endpoint = process.env.SQS_ENDPOINT;
      if (!endpoint)
        throw config('Expected SQS_ENDPOINT to be a local SQS like http://127.0.0.1:4566, got nothing.');
      const { createSqsQueues, sqs } = await import('../functions/aws/index.ts');
      const queues = await createSqsQueues({ endpoint, queues: app.queues, prefix, empty: fresh });
      return sqs({ endpoint, queues, longPollMs: 1_000 });
    },
    servicebus: async (app, { keys, fresh = false }) => {
      const { SERVICEBUS_CONNECTION_STRING, SERVICEBUS_CONNECTION } = process.env;
      const connectionString = SERVICEBUS_CONNECTION_STRING || SERVICEBUS_CONNECTION || undefined;
      // What would be in a queue of this process is gone with it: enough for a run, but not to come back to.
      if (connectionString === undefined && !fresh)
        throw config(
          'Expected SERVICEBUS_CONNECTION_STRING to be what `npx longshore emulate servicebus` prints, got nothing.',
        );
      const { localServiceBus } = await import('./azure/queue.ts');
      return localServiceBus(app, { connectionString, keys, fresh });
    },
    redis: async (_, { schema = 'longshore', fresh = false }) => {
      const url = process.env.REDIS_URL;
      if (!url) throw config('Expected REDIS_URL to be redis://user:password@host:6379, got nothing.');
      const { redis } = await import('../local/backends/redis/index.ts');
      const backend = redis({ url, prefix: schema }); // first: it says what is wrong with a URL
      if (fresh) await deleteKeys(url, schema);
      return backend;
    },
    beanstalkd: async (_, options) => {
      const url = process.env.BEANSTALKD_URL;
      if (!url) throw config('Expected BEANSTALKD_URL to be beanstalk://host:11300, got nothing.');
      const { beanstalkd } = await import('../local/backends/beanstalkd/index.ts');
      const { openStore } = await import('./store.ts');
      const { prefix = 'longshore-', fresh = false } = options;
      const backend = beanstalkd({ url, prefix, store: await openStore(options) });
      if (fresh) await empty(backend);
      return backend;
    },
  };

/** Removes what an earlier run has left, dead letters too. */
async function empty(backend: Contract.QueueBackend): Promise<void> {
  const admin = backend.admin!;
  for (const { queue } of await admin.stats()) await admin.clear(queue);
  const letters = await admin.deadLetters.list({ max: 10_000 });
  await admin.deadLetters.discard(letters.map(({ id }) => id));
}

async function deleteKeys(url: string, prefix: string): Promise<void> {
  const { createClient } = await import('@redis/client');
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on('error', () => {}); // the command that fails tells
  try {
    await client.connect();
    for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 }))
      if (keys.length > 0) await client.unlink(keys);
  } catch (cause) {
    throw config(`Expected the server of REDIS_URL to answer, got: ${(cause as Error).message}`);
  } finally {
    client.destroy();
  }
}

/** Throws `CONFIG` for a backend that the examples do not know. */
export async function exampleBackend(
  app: App,
  options: OpenOptions,
  name: string = backendName(),
): Promise<Contract.QueueBackend> {
  const open = Object.hasOwn(backends, name) ? backends[name] : undefined;
  if (!open) {
    const names = Object.keys(backends).join(', ');
    throw config(`Expected LONGSHORE_BACKEND to be one of ${names}, got "${name}".`);
  }
  return open(app, options);
}
