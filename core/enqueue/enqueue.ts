/** How a client's jobs are sent: alone, or many as slices of which one is signed while the other is on its way. */

import type { Job } from '../app/job.ts';
import type { EnqueueOptions } from '../app/options.ts';
import { config, LongshoreError, shown } from '../base/errors.ts';
import type { OutgoingMessage, SendResult, SqlTransaction } from '../contract/queue.ts';
import type { Client } from './client.ts';
import { storePayloads, type Upload } from './offload.ts';
import { prepare, send } from './prepare.ts';

export type Sending = Pick<Client, 'enqueue' | 'enqueueMany'>;

interface Slice {
  readonly messages: OutgoingMessage[];
  /** For each message its index among the payloads. */
  readonly indexes: number[];
  /** `null`: no payload store is given. */
  readonly uploads: Upload[] | null;
}
/** Each is signed while the one before is on its way. Small, because the queue waits for the first, and the caller for the last. */
const sliceSize = 200;

export function createSending(client: Pick<Client, 'app' | 'backend' | 'stores'>): Sending {
  const { app, backend, stores } = client;
  /** The payloads come first: one without its message is only left over, a message without its payload is lost. */
  async function keepAndSend(
    uploads: Upload[],
    messages: OutgoingMessage[],
    tx: SqlTransaction | undefined,
  ): Promise<SendResult[]> {
    const failed = await storePayloads(stores.payloads!, uploads);
    const kept = messages.filter(({ id }) => !failed.has(id));
    const sent = (await sendAll(kept, tx)).values();
    return messages.map(({ id }) => {
      const error = failed.get(id);
      return error ? { ok: false, id, error } : sent.next().value!;
    });
  }
  // Neither is asynchronous itself: a promise around a promise takes three more turns of the microtasks, for every job.
  function sendWith(
    uploads: Upload[] | null,
    messages: OutgoingMessage[],
    tx: SqlTransaction | undefined,
  ): Promise<SendResult[]> {
    return uploads?.length ? keepAndSend(uploads, messages, tx) : sendAll(messages, tx);
  }
  function sendAll(messages: OutgoingMessage[], tx: SqlTransaction | undefined): Promise<SendResult[]> {
    if (messages.length === 0) return Promise.resolve([]);
    if (tx === undefined) return send(client, messages);
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
    const slice: Slice = { messages: [], indexes: [], uploads: stores.payloads ? [] : null };
    for (let i = from; i < payloads.length && i < from + sliceSize; i++) {
      try {
        const pending = prepare(app, backend.limits, job, payloads[i], how, slice.uploads);
        slice.messages.push(pending instanceof Promise ? await pending : pending);
        slice.indexes.push(i);
      } catch (error) {
        if (!(error instanceof LongshoreError)) throw error;
        results[i] = { ok: false, id: '', error };
      }
    }
    return slice;
  }
  return {
    async enqueue(job, payload, how = {}) {
      const uploads: Upload[] | null = stores.payloads ? [] : null;
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
        underWay = sendWith(slice.uploads, slice.messages, how.tx).then((sent) => {
          for (let i = 0; i < sent.length; i++) results[slice.indexes[i]!] = sent[i]!;
        });
        underWay.catch(() => {}); // it is awaited below
        if (from + sliceSize < payloads.length) await twoTurns();
      }
      await underWay;
      return results;
    },
  };
}

/** Drivers write when the event loop turns; signing at once would keep the slice here until the next one is signed. */
const twoTurns = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
