/** A worker in a container on SQS, 2 and 30 ms from it and back. The server and its distance have a process of their own. */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { createSqsQueues, sqs } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type Bench, leastRow, type Row } from '../kit/bench.ts';
import { perSecond } from '../kit/task.ts';

const roundTripsMs = [2, 30] as const;
const jobs = 4_000;
const concurrency = 100;
const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(1) }]);
const none = { '~standard': { version: 1, vendor: 'none', validate: () => ({ value: null }) } } as const;

async function startServer(root: string, roundTripMs: number) {
  const child = spawn(process.execPath, [join(root, 'test/bench/aws/far-sqs.ts'), String(roundTripMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const url of createInterface({ input: child.stdout })) return { url, stop: () => child.kill() };
  throw new Error('The server has ended.');
}

/** Jobs a second, from the start of a worker to the end of its last job. */
async function drained(root: string, roundTripMs: number): Promise<number> {
  const { url: endpoint, stop } = await startServer(root, roundTripMs);
  const over = Promise.withResolvers<void>();
  let left = jobs;
  const job = defineJob({
    name: 'bench',
    queue: 'bench',
    payload: none,
    async handle() {
      if (--left === 0) over.resolve();
    },
  });
  const app = createApp({ jobs: [job], signing });
  const queues = await createSqsQueues({ endpoint, queues: app.queues });
  const backend = sqs({ endpoint, queues, longPollMs: 1_000 });
  const store = memoryStore();
  const client = connect(app, backend, { store });
  await client.enqueueMany(job, new Array(jobs).fill(null));
  const began = performance.now();
  const worker = startWorker(app, { backend, store, concurrency, signals: [] });
  await over.promise;
  const tookMs = performance.now() - began;
  worker.stop();
  await worker.done;
  await client.close();
  stop();
  return perSecond(jobs, tookMs);
}

export async function drain({ root, rounds }: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const roundTripMs of roundTripsMs) {
    const samples: number[] = [];
    for (let round = 0; round < rounds; round++) samples.push(await drained(root, roundTripMs));
    rows.push(
      leastRow(`${jobs} jobs, ${concurrency} slots, ${roundTripMs} ms to SQS and back`, '/s', samples, 2_000),
    );
  }
  return rows;
}
