/** The sending side: what a web app holds. What `enqueue()` does is in sending.ts and enqueue.ts, loaded with the first job. */

import type { App } from '../app/app.ts';
import type { Job, Priority } from '../app/job.ts';
import type { QueueBackend, SendResult, SqlTransaction } from '../contract/queue.ts';
import type { CancelResult, JobRecord, Stores } from '../contract/store.ts';
import type { JobContext } from '../envelope/envelope.ts';
import type { Sending } from './enqueue.ts';
import { storesOf } from './stores.ts';

export interface EnqueueOptions {
  /** Not before so many ms from now. Not together with `runAt`. */
  readonly delayMs?: number;
  /** Not before this moment; a past one runs at once. */
  readonly runAt?: Date;
  readonly priority?: Priority;
  /** Instead of the job's own queue. */
  readonly queue?: string;
  /** Instead of the job's own `idempotencyKey(payload)`. At most 256 characters. */
  readonly idempotencyKey?: string;
  readonly maxRetries?: number;
  /** A label for people. */
  readonly name?: string;
  /** Order and fairness per key, on backends that have it. */
  readonly group?: string;
  /**
   * Enqueues as a part of this transaction: the job comes to be when it commits, or never. A client of `pg` between BEGIN and
   * COMMIT, or an adapter around another library's transaction; for backends that live in a database.
   */
  readonly tx?: SqlTransaction;
  /** @default the context of the job or request that is running now */
  readonly context?: JobContext;
}

export interface EnqueuedJob {
  readonly id: string;
  readonly queue: string;
}

export interface Client {
  readonly app: App;
  readonly backend: QueueBackend;
  readonly stores: Stores;
  /** Throws `PAYLOAD`, `LIMIT`, `OPTION`, `CONFIG` or `UNKNOWN_JOB` before anything is sent, `BACKEND` and its kin when sending fails. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** One result per payload, in order; what is wrong with one does not stop the others. */
  enqueueMany<Input>(
    job: Job<Input>,
    payloads: readonly NoInfer<Input>[],
    options?: EnqueueOptions,
  ): Promise<SendResult[]>;
  /** `null` for a job that is not known or no longer kept. */
  status(id: string): Promise<JobRecord | null>;
  cancel(id: string): Promise<CancelResult>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** State that the backend does not keep itself, or that should live elsewhere. */
  readonly store?: Partial<Stores>;
}

export function connect(app: App, backend: QueueBackend, options: ConnectOptions = {}): Client {
  app.keyRing(); // a missing key must stop the start, not the first job
  const stores = storesOf(backend, options.store);
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
      await backend.close();
      await options.store?.close?.();
    },
  };
}
