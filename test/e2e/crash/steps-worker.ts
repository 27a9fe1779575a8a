/**
 * A worker process that kills itself, or stands still: `node steps-worker.ts <backend> <its address> <effects file> <queue> <n> <leaseMs> <signal>`.
 * It does so when the nth thing has happened to the job: an effect, or a call of the queue or the store that has been answered.
 */

import { startWorker } from '../../../core/index.ts';
import type { BackendName } from './backends.ts';
import { openStepEffects, openWatched, stepApp } from './steps-app.ts';

const [name, address, effectsPath, queue, last, lease, signal] = process.argv.slice(2);
let count = 0;
const happened = (): void => {
  if (++count === Number(last)) process.kill(process.pid, signal as NodeJS.Signals);
};
const { app } = stepApp(openStepEffects(effectsPath!), happened);
app.events.on((event) => {
  if (event.type === 'job.settled') process.stdout.write(`settled: ${event.settled}\n`);
});
const opened = await openWatched(name as BackendName, address!, happened);
startWorker(app, { ...opened, queues: [queue!], concurrency: 1, leaseMs: Number(lease) });
