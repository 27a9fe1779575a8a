/** Three queues of one app, in virtual time. A fetch takes 1 ms. */

import * as z from 'zod';
import { sleep } from '../../../core/base/clock.ts';
import {
  type AppOptions,
  type Contract,
  connect,
  createApp,
  defineJob,
  keyRing,
  startWorker,
  type WorkerOptions,
} from '../../../core/index.ts';
import type { Limits } from '../../../core/kernel/app/flow-control.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { distant, settle } from './kit.ts';

/** How long a job takes, if the test does not say it. */
export const jobMs = 10;

type QueueName = 'import' | 'mail' | 'pdf';

interface QueuesOptions {
  /** Limits of the jobs of a queue. */
  readonly jobs?: Partial<Record<QueueName, Limits<{ n: number }>>>;
  readonly queues?: AppOptions['queues'];
}

export function createQueues(
  lengths: Partial<Record<QueueName, number>> = {},
  { jobs: limits = {}, queues = {} }: QueuesOptions = {},
) {
  const clock = createVirtualClock();
  const backend = memory({ clock });
  const begun: { readonly queue: string; readonly n: number; readonly waitedMs: number }[] = [];
  const running = new Map<string, number>();
  const peaks = new Map<string, number>();
  const jobOf = (queue: QueueName) =>
    defineJob({
      name: queue,
      queue,
      payload: z.object({ n: z.number(), at: z.number() }),
      ...limits[queue],
      async handle({ n, at }) {
        begun.push({ queue, n, waitedMs: clock.now() - at });
        running.set(queue, (running.get(queue) ?? 0) + 1);
        peaks.set(queue, Math.max(peaks.get(queue) ?? 0, running.get(queue)!));
        await sleep(clock, lengths[queue] ?? jobMs);
        running.set(queue, running.get(queue)! - 1);
      },
    });
  const jobs = { import: jobOf('import'), mail: jobOf('mail'), pdf: jobOf('pdf') };
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: Object.values(jobs), queues, clock, random: () => 0.5, signing });
  const client = connect(app, backend);
  /** Fetches that ask some of the queues. */
  let fetches = 0;
  /** Jobs that went back to their queue. */
  let released = 0;
  const counted: Contract.QueueBackend = {
    ...backend,
    fetch(request) {
      if (request.queues.length < 3) fetches++;
      return backend.fetch(request);
    },
    nack(lease, how) {
      released++;
      return backend.nack(lease, how);
    },
  };
  async function pass(ms: number) {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      await settle(12);
    }
  }
  return {
    app,
    clock,
    backend,
    begun,
    pass,
    /** The most jobs of the queue that ran at the same time. */
    peakOf: (queue: QueueName) => peaks.get(queue) ?? 0,
    heldOf: async (queue: QueueName) => (await backend.admin!.stats(queue))[0]?.leased ?? 0,
    fetches: () => fetches,
    released: () => released,
    client,
    jobs,
    async enqueue(queue: QueueName, count: number) {
      const payloads = Array.from({ length: count }, (_, n) => ({ n, at: clock.now() }));
      await client.enqueueMany(jobs[queue], payloads);
    },
    /** A process that has died, or goes on elsewhere, holds two slots of `import` for so long. */
    async holdTwo(key: string, limit: number, holdMs: number) {
      const other = { key, limit, owner: 'other', holdMs, rank: 0, queue: 'import' };
      await backend.stores!.limits!.take(['a', 'b'].map((holder) => ({ ...other, holder })));
    },
    start: (options: Partial<WorkerOptions>) =>
      startWorker(app, { ...options, backend: distant(options.backend ?? counted, clock, 1) }),
    async stop(worker: { stop(): Promise<unknown> }) {
      const stopping = worker.stop();
      await pass(30);
      await stopping;
    },
    countOf: (queue: string) => begun.filter((one) => one.queue === queue).length,
  };
}
