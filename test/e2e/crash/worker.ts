/** One worker process, made to be killed: `node worker.ts <backend> <its address> <effects file> <leaseMs>`. */

import { startWorker } from '../../../core/index.ts';
import { crashApp, openEffects } from './app.ts';
import { type BackendName, openers } from './backends.ts';

const [name, address, effectsPath, lease] = process.argv.slice(2);
const leaseMs = Number(lease);
const { app } = crashApp(openEffects(effectsPath!), leaseMs);
let begun = false;
app.events.on((event) => {
  // What a record was not told it cannot say: the test is to name the store, not the job.
  if (event.type === 'store.failed') process.stderr.write(`${event.error.message}\n`);
  if (event.type !== 'job.started' || begun) return;
  begun = true;
  process.stdout.write('at work\n'); // to kill it before would prove nothing
});
startWorker(app, {
  ...(await openers[name as BackendName](address!)),
  concurrency: 10,
  prefetch: 4,
  leaseMs,
  signals: ['SIGTERM'],
});
