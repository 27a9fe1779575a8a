/** One worker over several queues, in virtual time: jobs take 10 ms, and a fetch takes 1 ms. */

import { describe, expect, it } from 'vitest';
import { distant } from './kit.ts';
import { createQueues, jobMs } from './queues-kit.ts';

describe('the queues of a worker', () => {
  it.each([1, 8])(
    'begin a job within two lengths of others beside a backlog, with %i slots',
    async (slots) => {
      const t = createQueues();
      await t.enqueue('import', 1_000);
      const worker = t.start({ concurrency: slots });
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
    const worker = t.start({ concurrency: 8 });
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
    const worker = t.start({ concurrency: 8 });
    await t.pass(100);
    const [ran, asked] = [t.countOf('import'), t.fetches()];
    await t.pass(200);
    expect(t.countOf('import') - ran).toBeGreaterThanOrEqual(145); // of 160
    expect(t.fetches() - asked).toBeLessThanOrEqual(200 / 20 + 1);
    await t.stop(worker);
  });

  it.each([30, 60, 130])('all go on where a fetch takes %i ms', async (fetchMs) => {
    const t = createQueues({ mail: 45, pdf: 75 });
    await t.enqueue('import', 400);
    const worker = t.start({ concurrency: 8, backend: distant(t.backend, t.clock, fetchMs) });
    for (let i = 0; i < 30; i++) {
      await t.enqueue(i % 2 === 0 ? 'mail' : 'pdf', 5);
      await t.pass(53);
    }
    await t.pass(8_000);
    expect([t.countOf('import'), t.countOf('mail'), t.countOf('pdf')]).toEqual([400, 75, 75]);
    const stopping = worker.stop();
    await t.pass(500);
    await stopping;
  });
});
