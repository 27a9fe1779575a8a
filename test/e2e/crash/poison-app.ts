/** Ten jobs of which one kills its process. Run as a program with the path of a database it works until nothing is ready. */

import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

export function poisonApp(path: string) {
  const job = defineJob({
    name: 'mixed',
    queue: 'poison',
    payload: z.object({ n: z.number() }),
    async handle({ n }) {
      await delay(20);
      if (n === 4) process.kill(process.pid, 'SIGKILL');
      await delay(20);
    },
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const backend = sqlite(path);
  return { app, job, backend, client: connect(app, backend) };
}

if (import.meta.main) {
  const { app, backend } = poisonApp(process.argv[2]!);
  await startWorker(app, { backend, leaseMs: 300, untilIdle: true }).done;
  await backend.close();
}
