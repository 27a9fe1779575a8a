/** A worker on Service Bus, near its namespace (2 ms to it and back) and far from it (30 ms). */

import * as z from 'zod';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { serviceBus } from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { startSlow } from '../../kit/network/slow.ts';
import { type Bench, limitRow, type Row, suite } from '../kit/bench.ts';

const roundTripsMs = [2, 30] as const;
const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(1) }]);

interface Load {
  readonly jobs: number;
  /** How long each runs. */
  readonly jobMs: number;
  readonly concurrency: number;
  /** Whether the time to enqueue them counts. */
  readonly enqueues: boolean;
  /** In a queue with sessions, each job in a group of its own. */
  readonly sessions: boolean;
}

/** From the first send, or the start of a worker, to the end of the last job. */
async function drainedAfter(roundTripMs: number, load: Load): Promise<number> {
  const server = await startServiceBus();
  server.createQueue('bench', { duplicateWindowMs: 3_600_000, requiresSession: load.sessions });
  const far = await startSlow(`http://127.0.0.1:${server.port}`, roundTripMs);
  const port = new URL(far.url).port;
  const over = Promise.withResolvers<void>();
  let left = load.jobs;
  const job = defineJob({
    name: 'bench',
    queue: 'bench',
    payload: z.null(),
    async handle() {
      if (load.jobMs > 0) await new Promise((resolve) => setTimeout(resolve, load.jobMs));
      if (--left === 0) over.resolve();
    },
  });
  const app = createApp({ jobs: [job], signing });
  const store = memoryStore();
  const backend = serviceBus({
    connectionString: server.connectionString.replace(`:${server.port};`, `:${port};`),
    queues: ['bench'],
    ...(load.sessions && { sessions: ['bench'] }),
    keys: store.keys,
    longPollMs: 1_000,
  });
  const client = connect(app, backend, { store });
  const many = Array.from({ length: load.jobs }, (_, i) => ({
    job,
    payload: null,
    options: load.sessions ? { group: `group ${i}` } : {},
  }));
  const enqueuing = performance.now();
  await client.enqueueMany(many);
  const began = load.enqueues ? enqueuing : performance.now();
  const worker = startWorker(app, { backend, store, concurrency: load.concurrency, signals: [] });
  await over.promise;
  const tookMs = performance.now() - began;
  worker.stop();
  await worker.done;
  await client.close();
  await far.close();
  await server.stop();
  return tookMs;
}

const measured =
  (name: string, load: Load, most: Readonly<Record<(typeof roundTripsMs)[number], number>>) =>
  async (bench: Bench): Promise<Row[]> => {
    const rows: Row[] = [];
    for (const roundTripMs of roundTripsMs) {
      const samples: number[] = [];
      for (let round = 0; round < bench.rounds; round++) samples.push(await drainedAfter(roundTripMs, load));
      rows.push(
        limitRow(`${name}, ${roundTripMs} ms to Service Bus and back`, 'ms', samples, most[roundTripMs]),
      );
    }
    return rows;
  };

export const azure = suite(
  {
    drain: measured(
      '500 jobs enqueued and run, 20 slots',
      { jobs: 500, jobMs: 0, concurrency: 20, enqueues: true, sessions: false },
      { 2: 1_000, 30: 2_000 },
    ),
    sessions: measured(
      '40 jobs of 1 s in 40 groups, 20 slots',
      { jobs: 40, jobMs: 1_000, concurrency: 20, enqueues: false, sessions: true },
      { 2: 2_500, 30: 3_500 },
    ),
  },
  async () => ({ stop: async () => {} }),
);
