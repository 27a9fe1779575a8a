/** Laws of a worker that ends by itself: what it may leave behind is the same on every queue. */

import assert from 'node:assert/strict';
import { connect, startWorker, type WorkerOptions } from '../../../core/index.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf } from './app.ts';
import { mail, second } from './kit.ts';
import type { Law } from './law.ts';

export function endingLaws(law: Law): void {
  const ways: readonly Pick<WorkerOptions, 'once' | 'untilIdle'>[] = [{ untilIdle: true }, { once: true }];
  for (const way of ways) {
    const [name] = Object.keys(way);
    law(`a worker with ${name} runs the job of one that died, and then ends`, async (t) => {
      const app = appOf(t);
      const { backend } = t;
      const options = backend.stores ? {} : { store: memoryStore({ clock: app.clock }) };
      await connect(app, backend, options).enqueue(app.jobs.get('invoice.send')!, 1);
      await t.take({ leaseMs: second });
      await t.advance(2 * second);
      const { counts } = await startWorker(app, { backend, queues: [mail], ...options, ...way }).done;
      assert.equal(counts.acked, 1);
      await t.nothingEverComes();
    });
  }
}
