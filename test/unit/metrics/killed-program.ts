/** Runs 50 jobs, lets ten seconds pass, runs 30 more and is killed: `node killed-program.ts <file>`. */

import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const clock = createVirtualClock();
const job = defineJob({ name: 'quick', payload: z.number(), handle() {} });
const app = createApp({ jobs: [job], clock, signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
const backend = sqlite({ path: process.argv[2]!, clock });
const client = connect(app, backend);

async function run(count: number): Promise<void> {
  await client.enqueueMany(
    job,
    Array.from({ length: count }, (_, n) => n),
  );
  for (;;) {
    const [stats] = await backend.admin!.stats('default');
    if (stats!.ready + stats!.leased === 0) return;
    clock.advance(1); // the file is looked at again
    await new Promise(setImmediate);
  }
}

startWorker(app, { backend });
await run(50);
clock.advance(10_000);
for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
await run(30);
process.kill(process.pid, 'SIGKILL');
