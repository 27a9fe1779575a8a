/** What limits cost: the same jobs without a limit, and with one job at a time for each of 10,000 keys. */

import * as z from 'zod/mini';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import type { ConcurrencyLimit } from '../../../core/kernel/app/flow-control.ts';
import { type Bench, pairs, type Row, ratioRow } from './bench.ts';
import type { BenchServer } from './network.ts';
import { perSecond } from './task.ts';

const jobs = 20_000;
const keys = 10_000;
const perCall = 1_000;
const concurrency = 50;

interface Payload {
  readonly n: number;
  readonly text: string;
}

/** Jobs per second of one worker. */
async function drainOf(
  backend: QueueBackend,
  queue: string,
  concurrencyLimit?: ConcurrencyLimit<Payload>,
): Promise<number> {
  const all = Promise.withResolvers<void>();
  let ran = 0;
  const job = defineJob({
    name: queue,
    queue,
    payload: z.object({ n: z.number(), text: z.string() }),
    ...(concurrencyLimit && { concurrency: concurrencyLimit }),
    handle: async () => {
      if (++ran === jobs) all.resolve();
    },
  });
  const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
  const app = createApp({ jobs: [job], signing });
  const client = connect(app, backend);
  for (let from = 0; from < jobs; from += perCall) {
    const payloads = Array.from({ length: perCall }, (_, i) => ({ n: from + i, text: 'x'.repeat(170) }));
    await client.enqueueMany(job, payloads);
  }
  const startedAt = performance.now();
  const worker = startWorker(app, { backend, concurrency });
  await all.promise;
  const durationMs = performance.now() - startedAt;
  await worker.stop();
  return perSecond(jobs, durationMs);
}

const perKey = { limit: 1, key: ({ n }: Payload) => `customer-${n % keys}` };

export function limits(
  bench: Bench,
  server: BenchServer,
  open: (place: { url: string; schema: string }) => QueueBackend,
): Promise<Row[]> {
  return server.at(async (place) => {
    const backend = open(place);
    await drainOf(backend, 'warm-up', perKey);
    let round = 0;
    const measured = await pairs(bench, async () => ({
      theirs: await drainOf(backend, `plain-${++round}`),
      ours: await drainOf(backend, `limited-${round}`, perKey),
    }));
    await backend.close();
    return [ratioRow('drain c=50, 10,000 keys of limit 1', 'jobs/s', measured, 0.5, 'no limits')];
  });
}
