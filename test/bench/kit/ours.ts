/** The measured side, through the public verbs and with no setting but the slots: signature, schema check and fencing are on. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { benchApp, payload } from './app.ts';
import type { Opened } from './contender.ts';

export const dayMs = 86_400_000;

export function ours(backend: QueueBackend): Opened {
  const { app, job } = benchApp();
  const client = connect(app, backend);
  return {
    sendOne: (n, at) => client.enqueue(job, payload(n, at)),
    async sendMany(from, count, delayMs) {
      const payloads = Array.from({ length: count }, (_, i) => payload(from + i));
      const results = await client.enqueueMany(job, payloads, delayMs > 0 ? { delayMs } : {});
      const failed = results.find(({ ok }) => !ok);
      if (failed && !failed.ok) throw failed.error;
    },
    async work({ concurrency, count, only }, watch) {
      watch.start();
      const until = only ? { maxJobs: count } : { untilIdle: true };
      const { counts } = await startWorker(app, { backend, concurrency, ...until }).done;
      watch.stop();
      return counts.acked;
    },
    async listen(handle) {
      const worker = startWorker(benchApp(({ at }) => handle(at)).app, { backend });
      return async () => void (await worker.stop());
    },
    close: () => backend.close(),
  };
}
