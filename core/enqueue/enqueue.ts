/** What `enqueue()` does: prepare, then send. Many jobs are sent in slices; one is signed while the one before is on its way. */

import type { Job } from '../app/job.ts';
import type { EnqueuedJob, EnqueueOptions } from '../app/options.ts';
import { LongshoreError } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import type { OutgoingMessage, SendResult, SqlTransaction } from '../contract/queue.ts';
import type { Upload } from './offload.ts';
import { prepare } from './prepare.ts';
import { type SendingClient, send } from './send.ts';

/** Small, because the queue waits for the first slice, and the caller for the last. */
const sliceSize = 200;

export async function enqueue(
  client: SendingClient,
  job: Job,
  payload: unknown,
  options: EnqueueOptions = {},
): Promise<EnqueuedJob> {
  const uploads = newUploads(client);
  const pending = prepare(client, job, payload, options, uploads);
  const message = pending instanceof Promise ? await pending : pending;
  const [result] = await send(client, [message], uploads, options.tx);
  if (!result?.ok) throw result?.error ?? new LongshoreError('BACKEND', 'The backend gave no result.');
  return { id: message.id, queue: message.queue };
}

export function enqueueMany(
  client: SendingClient,
  job: Job,
  payloads: readonly unknown[],
  options: EnqueueOptions = {},
): Promise<SendResult[]> {
  return enqueueEach(
    client,
    payloads.length,
    (i, uploads) => prepare(client, job, payloads[i], options, uploads),
    options.tx,
  );
}

/** Prepares the job at this index. What it throws as a `LongshoreError` is the result of this job. */
export type PrepareAt = (
  index: number,
  uploads: Upload[] | null,
) => OutgoingMessage | Promise<OutgoingMessage>;

/** Enqueues jobs of any kind. One result per job, in order; what is wrong with one does not stop the others. */
export async function enqueueEach(
  client: SendingClient,
  count: number,
  prepareAt: PrepareAt,
  tx?: SqlTransaction,
): Promise<SendResult[]> {
  const results: SendResult[] = new Array(count);
  let underWay: Promise<void> | null = null;
  let failure: LongshoreError | null = null;
  for (let from = 0; from < count && !failure; from += sliceSize) {
    const slice = await prepareSlice(client, from, Math.min(count, from + sliceSize), prepareAt, results);
    // One at a time, because they shall arrive in this order.
    await underWay;
    underWay = send(client, slice.messages, slice.uploads, tx).then(
      (sent) => {
        for (let i = 0; i < sent.length; i++) results[slice.indexes[i]!] = sent[i]!;
      },
      (error) => {
        // With slices in the queue already, the caller must learn which jobs are not.
        if (from === 0 || tx !== undefined) throw error;
        failure = backendError('enqueueing', error);
      },
    );
    underWay.catch(() => {}); // it is awaited below
    if (from + sliceSize < count) await twoTurns();
  }
  await underWay;
  if (failure) for (let i = 0; i < count; i++) results[i] ??= refused(failure);
  return results;
}

interface Slice {
  readonly messages: OutgoingMessage[];
  /** For each message the index of its job. */
  readonly indexes: number[];
  readonly uploads: Upload[] | null;
}

async function prepareSlice(
  client: SendingClient,
  from: number,
  to: number,
  prepareAt: PrepareAt,
  results: SendResult[],
): Promise<Slice> {
  const slice: Slice = { messages: [], indexes: [], uploads: newUploads(client) };
  for (let i = from; i < to; i++) {
    try {
      const pending = prepareAt(i, slice.uploads);
      slice.messages.push(pending instanceof Promise ? await pending : pending);
      slice.indexes.push(i);
    } catch (error) {
      if (!(error instanceof LongshoreError)) throw error;
      results[i] = refused(error);
    }
  }
  return slice;
}

const refused = (error: LongshoreError): SendResult => ({ ok: false, id: '', error });

/** Without a payload store a payload that is too large for the queue is refused. */
const newUploads = ({ stores }: SendingClient): Upload[] | null => (stores.payloads ? [] : null);

/** Drivers write when the event loop turns; signing at once would keep the slice here until the next one is signed. */
const twoTurns = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
