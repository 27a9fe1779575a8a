/** One worker on Service Bus, made to be killed: `node service-bus-worker.ts <connection string> <store file> <effects file> <leaseMs> [<queue with sessions>]`. */

import { startWorker } from '../../../core/index.ts';
import { serviceBus } from '../../../functions/azure/index.ts';
import { sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { crashApp, openEffects } from './app.ts';

const [connectionString, storePath, effectsPath, lease, ...sessions] = process.argv.slice(2);
const leaseMs = Number(lease);
const { app } = crashApp(openEffects(effectsPath!), leaseMs);
const store = sqliteStore(storePath!);
startWorker(app, {
  backend: serviceBus({ connectionString: connectionString!, sessions, keys: store.keys, longPollMs: 1_000 }),
  store,
  concurrency: 10,
  prefetch: 4,
  leaseMs,
  signals: ['SIGTERM'],
});
process.stdout.write('ready\n');
