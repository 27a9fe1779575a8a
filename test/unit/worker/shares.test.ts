/** One worker over several queues, in virtual time: jobs take 10 ms, and a fetch takes 1 ms. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { sleep } from '../../../core/base/clock.ts';
import { type Contract, connect, createApp, defineJob, keyRing, startWorker } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { distant, settle } from './kit.ts';

const jobMs = 10;

function createQueues() {
  const clock = createVirtualClock();
  const backend = memory({ clock });
  const begun: { readonly queue: string; readonly n: number; readonly waitedMs: number }[] = [];
  const jobOf = (queue: string) =>
    defineJob({
      name: queue,
      queue,
      payload: z.object({ n: z.number(), at: z.number() }),
      async handle({ n, at }) {
        begun.push({ queue, n, waitedMs: clock.now() - at });
        await sleep(clock, jobMs);
      },
    });
  const jobs = { import: jobOf('import'), mail: jobOf('mail'), pdf: jobOf('pdf') };
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const app = createApp({ jobs: Object.values(jobs), clock, random: () => 0.5, signing });
  const client = connect(app, backend);
  /** Fetches that ask some of the queues. */
  let fetches = 0;
  const counted: Contract.QueueBackend = {
    ...backend,
    fetch(request) {
      if (request.queues.length < 3) fetches++;
      return backend.fetch(request);
    },
  };
  async function pass(ms: number) {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1);
      await settle(12);
    }
  }
  return {
    begun,
    pass,
    fetches: () => fetches,
    async enqueue(queue: keyof typeof jobs, count: number) {
      const payloads = Array.from({ length: count }, (_, n) => ({ n, at: clock.now() }));
      await client.enqueueMany(jobs[queue], payloads);
    },
    start: (concurrency: number) => startWorker(app, { backend: distant(counted, clock, 1), concurrency }),
    async stop(worker: { stop(): Promise<unknown> }) {
      const stopping = worker.stop();
      await pass(30);
      await stopping;
    },
    countOf: (queue: string) => begun.filter((one) => one.queue === queue).length,
  };
}

describe('the queues of a worker', () => {
  it.each([1, 8])(
    'begin a job within two lengths of others beside a backlog, with %i slots',
    async (slots) => {
      const t = createQueues();
      await t.enqueue('import', 1_000);
      const worker = t.start(slots);
      await t.pass(60);
      for (let i = 0; i < 10; i++) {
        await t.enqueue('mail', 1);
        await t.pass(37);
      }
      const waits = t.begun.filter(({ queue }) => queue === 'mail').map(({ waitedMs }) => waitedMs);
      expect(waits).toHaveLength(10);
      expect(Math.max(...waits)).toBeLessThanOrEqual(2 * jobMs + 5);
      await t.stop(worker);
    },
  );

  it('share the slots when several have a backlog, and each keeps its order', async () => {
    const t = createQueues();
    await t.enqueue('import', 2_000);
    const worker = t.start(8);
    await t.pass(60);
    await t.enqueue('mail', 600);
    await t.enqueue('pdf', 600);
    await t.pass(30);
    const queues = ['import', 'mail', 'pdf'];
    const before = queues.map(t.countOf);
    await t.pass(400);
    const ran = queues.map((queue, i) => t.countOf(queue) - before[i]!);
    const all = ran.reduce((sum, count) => sum + count, 0);
    for (const count of ran) expect(count / all).toBeGreaterThan(0.2);
    for (const queue of queues) {
      const order = t.begun.filter((one) => one.queue === queue).map(({ n }) => n);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    await t.stop(worker);
  });

  it('cost a backlog hardly anything while they are empty', async () => {
    const t = createQueues();
    await t.enqueue('import', 1_000);
    const worker = t.start(8);
    await t.pass(100);
    const [ran, asked] = [t.countOf('import'), t.fetches()];
    await t.pass(200);
    expect(t.countOf('import') - ran).toBeGreaterThanOrEqual(145); // of 160
    expect(t.fetches() - asked).toBeLessThanOrEqual(200 / 20 + 1);
    await t.stop(worker);
  });
});
