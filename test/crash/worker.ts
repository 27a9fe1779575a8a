/** One worker process, made to be killed: `node worker.ts <queue file> <effects file> <leaseMs>`. */

import { startWorker } from '../../core/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { crashApp, openEffects } from './app.ts';

const [queuePath, effectsPath, lease] = process.argv.slice(2);
const leaseMs = Number(lease);
const { app } = crashApp(openEffects(effectsPath!), leaseMs);
startWorker(app, {
  backend: sqlite(queuePath!),
  concurrency: 10,
  prefetch: 4,
  leaseMs,
  signals: ['SIGTERM'],
});
process.stdout.write('ready\n');
