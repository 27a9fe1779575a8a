/** One worker process, made to be killed: `node worker.ts <backend> <its address> <effects file> <leaseMs>`. */

import { startWorker } from '../../core/index.ts';
import { crashApp, openEffects } from './app.ts';
import { type BackendName, openers } from './backends.ts';

const [name, address, effectsPath, lease] = process.argv.slice(2);
const leaseMs = Number(lease);
const { app } = crashApp(openEffects(effectsPath!), leaseMs);
startWorker(app, {
  backend: openers[name as BackendName](address!),
  concurrency: 10,
  prefetch: 4,
  leaseMs,
  signals: ['SIGTERM'],
});
process.stdout.write('ready\n');
