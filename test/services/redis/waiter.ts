/** A worker process that waits, made to be stopped: `node waiter.ts <url> <prefix> <leaseMs>`. It tells of each attempt. */

import * as z from 'zod';
import { createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { redis } from '../../../local/backends/redis/index.ts';

const [url = '', prefix = '', leaseMs] = process.argv.slice(2);

export const greet = defineJob({
  name: 'greet',
  payload: z.object({}),
  handle: async (_payload, { id, attempt, previouslyCrashed }) => {
    process.stdout.write(`${JSON.stringify({ id, attempt, previouslyCrashed })}\n`);
  },
});
export const app = createApp({
  jobs: [greet],
  signing: keyRing([{ kid: 'test', secret: new Uint8Array(32).fill(1) }]),
});

if (import.meta.main) {
  startWorker(app, { backend: redis({ url, prefix }), leaseMs: Number(leaseMs), signals: ['SIGTERM'] });
}
