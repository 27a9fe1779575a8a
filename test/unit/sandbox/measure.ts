/** Prints what isolation costs on this machine: `node test/unit/sandbox/measure.ts`. docs/decisions/isolated-handlers.md has some numbers. */

import { readFileSync } from 'node:fs';
import { endIsolates, poolOf } from '../../../core/features/sandbox/host.ts';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import * as small from './modules/small.ts';

const { schema } = small.thread;
const plain = defineJob({ name: 'in-the-worker', payload: schema, handle: () => {} });
const jobs = [plain, ...Object.values(small)];
const app = createApp({ jobs, signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
const backend = memory();
const client = connect(app, backend);

const median = (times: number[]): string => times.sort((a, b) => a - b)[times.length >> 1]!.toFixed(2);

async function once(job: (typeof jobs)[number]): Promise<number> {
  await client.enqueue(job, null);
  const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 60_000, waitMs: 0 });
  const began = performance.now();
  await attempt(app, { client, settler: backend }, createRun(lease!));
  return performance.now() - began;
}

const rssMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

for (const job of jobs) {
  const cold: number[] = [];
  for (let i = 0; i < 21; i++) {
    await endIsolates(app);
    cold.push(await once(job));
  }
  await endIsolates(app);
  const beforeMb = rssMb(process.pid);
  await once(job);
  const [isolate] = poolOf(app).all();
  const mb = isolate && isolate.pid !== process.pid ? rssMb(isolate.pid) : rssMb(process.pid) - beforeMb;
  const warm: number[] = [];
  for (let i = 0; i < 5_000; i++) warm.push(await once(job));
  process.stdout.write(
    `${job.name}: cold ${median(cold)} ms, warm ${median(warm)} ms, memory ${mb.toFixed(0)} MB\n`,
  );
}
await endIsolates(app);
