/**
 * Runs jobs inside the `enqueue` call, one after the other, in this process. For scripts and for tests of code
 * that enqueues. Delayed jobs and retries wait until a later `enqueue`, or a worker, finds them ready.
 */

import type { QueueBackend } from '../../core/contract/queue.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { createRun } from '../../core/kernel/attempt/run.ts';
import { clientOf } from '../../core/kernel/enqueue/connect.ts';
import { attempt } from '../../core/kernel/flow.ts';
import { type MemoryOptions, memory } from './memory/index.ts';

export type { QueueBackend } from '../../core/contract/queue.ts';

export function sync(app: App, options: MemoryOptions = {}): QueueBackend {
  const inner = memory({ clock: app.clock, ...options });
  let busy: Promise<void> | null = null;

  async function drain(): Promise<void> {
    const client = clientOf(app, backend);
    for (;;) {
      // The lease covers the longest job, because it is never renewed.
      const leaseMs = Math.max(0, ...[...app.jobs.values()].map((job) => job.timeoutMs)) + 60_000;
      const [lease] = await inner.fetch({ queues: app.queues, max: 1, leaseMs, waitMs: 0 });
      if (!lease) return;
      await attempt(app, { client, settler: inner }, createRun(lease));
    }
  }

  const backend: QueueBackend = {
    ...inner,
    name: 'sync',
    async enqueue(messages) {
      const results = await inner.enqueue(messages);
      // A job that enqueues another job must not wait for it: the drain that runs the first takes the new one next.
      if (busy) return results;
      busy = drain();
      try {
        await busy;
      } finally {
        busy = null;
      }
      return results;
    },
  };
  return backend;
}
