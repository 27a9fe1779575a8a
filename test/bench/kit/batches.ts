/** What a batch costs: the same jobs that do nothing, alone and as children of one batch. The drain ends when what the batch calls has run. */

import * as z from 'zod/mini';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { type Bench, pairs, type Row, ratioRow } from './bench.ts';
import type { BenchServer } from './network.ts';
import { perSecond } from './task.ts';

const children = 100_000;
const warmUpChildren = 5_000;
const perCall = 1_000;
const concurrency = 50;

/** Jobs per second of one worker. */
async function drainOf(
  backend: QueueBackend,
  queue: string,
  kind: 'plain' | 'batch',
  count = children,
): Promise<number> {
  const all = Promise.withResolvers<void>();
  let ran = 0;
  const job = defineJob({
    name: queue,
    queue,
    payload: z.object({ n: z.number() }),
    handle: async () => {
      if (++ran === count && kind === 'plain') all.resolve();
    },
  });
  const done = defineJob({
    name: `${queue}-done`,
    queue,
    payload: z.object({ total: z.number(), failed: z.number() }),
    handle: async ({ total, failed }) => {
      if (total !== count || failed > 0 || ran !== count)
        throw new Error(
          `Expected ${count} children to run once, got ${ran} runs, ${total} and ${failed} failed.`,
        );
      all.resolve();
    },
  });
  const signing = keyRing([{ kid: 'bench', secret: new Uint8Array(32).fill(7) }]);
  const app = createApp({ jobs: [job, done], signing });
  const client = connect(app, backend);
  const items = Array.from({ length: count }, (_, n) => ({ n }));
  if (kind === 'batch') await client.batch('bench', items, { job, onSuccess: done, chunkSize: perCall });
  else
    for (let from = 0; from < count; from += perCall)
      await client.enqueueMany(job, items.slice(from, from + perCall));
  const startedAt = performance.now();
  const worker = startWorker(app, { backend, concurrency });
  await all.promise;
  const durationMs = performance.now() - startedAt;
  await worker.stop();
  return perSecond(count, durationMs);
}

export function batches(
  bench: Bench,
  server: BenchServer,
  open: (place: { url: string; schema: string }) => QueueBackend,
): Promise<Row[]> {
  return server.at(async (place) => {
    const backend = open(place);
    await drainOf(backend, 'warm-up', 'batch', warmUpChildren);
    let round = 0;
    const measured = await pairs(bench, async () => ({
      theirs: await drainOf(backend, `plain-${++round}`, 'plain'),
      ours: await drainOf(backend, `batch-${round}`, 'batch'),
    }));
    await backend.close();
    return [ratioRow('drain c=50, 100,000 children of a batch', 'jobs/s', measured, 0.7, 'no batch')];
  });
}
