/** One worker process, made to be killed: `node worker.ts <backend> <its address> <effects file> <leaseMs>`. */

import { startWorker } from '../../core/index.ts';
import { crashApp, openEffects } from './app.ts';
import { type BackendName, openers } from './backends.ts';

const [name, address, effectsPath, lease] = process.argv.slice(2);
const leaseMs = Number(lease);
const { app } = crashApp(openEffects(effectsPath!), leaseMs);
const unsubscribe = app.events.on(({ type }) => {
  if (type !== 'job.started') return;
  process.stdout.write('at work\n'); // to kill it before would prove nothing
  unsubscribe();
});
startWorker(app, {
  ...openers[name as BackendName](address!),
  concurrency: 10,
  prefetch: 4,
  leaseMs,
  signals: ['SIGTERM'],
});
