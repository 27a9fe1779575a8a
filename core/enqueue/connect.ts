/** Connects an app to a queue. What `enqueue()` does is in enqueue.ts and prepare.ts, loaded with the first job. */

import type { App } from '../app/app.ts';
import type { QueueBackend } from '../contract/queue.ts';
import type { Client, ConnectOptions } from './client.ts';
import type { Sending } from './enqueue.ts';
import { storesOf } from './stores.ts';

export function connect(app: App, backend: QueueBackend, options: ConnectOptions = {}): Client {
  app.keyRing(); // a missing key must stop the start, not the first job
  const stores = storesOf(backend, options.store);
  const stopListening = backend.onWarning?.((message) => {
    if (app.events.active) app.events.emit({ type: 'backend.warning', backend: backend.name, message });
    // Nobody listens to this app, and somebody should know.
    else process.emitWarning(message, { code: 'LONGSHORE_BACKEND' });
  });
  let sending: Sending | null = null;
  /** With the first job that is enqueued: what only runs jobs, or only asks about them, starts without. */
  async function load(): Promise<Sending> {
    const { createSending } = await import('./enqueue.ts');
    sending ??= createSending({ app, backend, stores });
    return sending;
  }
  return {
    app,
    backend,
    stores,
    // No promise of their own around those of sending.ts: there are thousands of calls a second.
    enqueue: (job, payload, how) =>
      sending ? sending.enqueue(job, payload, how) : load().then((it) => it.enqueue(job, payload, how)),
    enqueueMany: (job, payloads, how) =>
      sending
        ? sending.enqueueMany(job, payloads, how)
        : load().then((it) => it.enqueueMany(job, payloads, how)),
    status: (id) => stores.records.get(id),
    cancel: (id) => stores.records.cancel(id),
    async close() {
      stopListening?.();
      await backend.close();
      await options.store?.close?.();
    },
  };
}
