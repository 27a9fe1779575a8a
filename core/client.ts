/** The sending side: what a web app holds. The checks of `enqueue()` are in enqueue.ts. */

import type { App } from './app.ts';
import type { Upload } from './claims.ts';
import type { OutgoingMessage, QueueBackend, SendResult, SqlTransaction } from './contract.ts';
import type { JobContext } from './envelope.ts';
import { config, LongshoreError, shown } from './errors.ts';
import type { Job, Priority } from './job.ts';
import type { CancelResult, JobRecord, Stores } from './store.ts';
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

interface Slice {
  readonly messages: OutgoingMessage[];
  /** For each message where it stands among the payloads. */
  readonly places: number[];
  /** `null`: there is no place for payloads that are too large. */
  readonly uploads: Upload[] | null;
}
const sliceSize = 500;

type Enqueueing = typeof import('./enqueue.ts');
/** Loaded with the first job that is enqueued: what only runs jobs, or only asks about them, starts without. */
let loaded: Enqueueing | null = null;

async function load(): Promise<Enqueueing> {
  loaded = await import('./enqueue.ts');
  return loaded;
}

export function connect(app: App, backend: QueueBackend, options: ConnectOptions = {}): Client {
  app.keyRing(); // a missing key must stop the start, not the first job
  const stores = storesOf(backend, options.store);
  /** The payloads come first: one without its message is only left over, a message without its payload is lost. */
  async function sendWith(
    uploads: Upload[] | null,
    messages: OutgoingMessage[],
    tx: SqlTransaction | undefined,
  ): Promise<SendResult[]> {
    if (!uploads?.length) return send(messages, tx);
    const { keepPayloads } = loaded ?? (await load());
    const failed = await keepPayloads(stores.claims!, uploads);
    const kept = messages.filter(({ id }) => !failed.has(id));
    const sent = (await send(kept, tx)).values();
    return messages.map(({ id }) => {
      const error = failed.get(id);
      return error ? { ok: false, id, error } : sent.next().value!;
    });
  }
  async function send(messages: OutgoingMessage[], tx: SqlTransaction | undefined): Promise<SendResult[]> {
    if (messages.length === 0) return [];
    if (tx === undefined) return (loaded ?? (await load())).send({ app, backend, stores }, messages);
    if (typeof tx?.query !== 'function') {
      throw new LongshoreError(
        'OPTION',
        `Expected tx to be a transaction with a query method, got ${shown(tx)}.`,
      );
    }
    if (backend.enqueueIn) return backend.enqueueIn(tx, messages);
    throw config(
      `Backend "${backend.name}" does not live in a database that a transaction could span. Leave tx out, or use outbox().`,
    );
  }
  async function prepareSlice(
    job: Job,
    payloads: readonly unknown[],
    from: number,
    how: EnqueueOptions,
    results: SendResult[],
  ): Promise<Slice> {
    const slice: Slice = { messages: [], places: [], uploads: stores.claims ? [] : null };
    const { prepare } = loaded ?? (await load());
    for (let i = from; i < payloads.length && i < from + sliceSize; i++) {
      try {
        const pending = prepare(app, backend.limits, job, payloads[i], how, slice.uploads);
        slice.messages.push(pending instanceof Promise ? await pending : pending);
        slice.places.push(i);
      } catch (error) {
        if (!(error instanceof LongshoreError)) throw error;
        results[i] = { ok: false, id: '', error };
      }
    }
    return slice;
  }
  async function sendSlice(
    { messages, places, uploads }: Slice,
    tx: SqlTransaction | undefined,
    results: SendResult[],
  ): Promise<void> {
    const sent = await sendWith(uploads, messages, tx);
    for (let i = 0; i < sent.length; i++) results[places[i]!] = sent[i]!;
  }
  return {
    app,
    backend,
    stores,
    async enqueue(job, payload, how = {}) {
      const { prepare } = loaded ?? (await load());
      const uploads: Upload[] | null = stores.claims ? [] : null;
      const pending = prepare(app, backend.limits, job as Job, payload, how, uploads);
      const message = pending instanceof Promise ? await pending : pending;
      const [result] = await sendWith(uploads, [message], how.tx);
      if (!result?.ok) throw result?.error ?? new LongshoreError('BACKEND', 'The backend gave no result.');
      return { id: message.id, queue: message.queue };
    },
    async enqueueMany(job, payloads, how = {}) {
      const results: SendResult[] = new Array(payloads.length);
      let underWay: Promise<void> | null = null;
      for (let from = 0; from < payloads.length; from += sliceSize) {
        const slice = await prepareSlice(job as Job, payloads, from, how, results);
        await underWay;
        // One slice is sent while the next one is signed; one at a time, because they shall arrive in this order.
        underWay = sendSlice(slice, how.tx, results);
        underWay.catch(() => {}); // it is awaited below
        if (from + sliceSize < payloads.length) await twoTurns();
      }
      await underWay;
      return results;
    },
    status: (id) => stores.records.get(id),
    cancel: (id) => stores.records.cancel(id),
    async close() {
      await backend.close();
      await options.store?.close?.();
    },
  };
}

/** Drivers write when the event loop turns; signing at once would keep the slice here until the next one is signed. */
const twoTurns = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
