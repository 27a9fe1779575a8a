/** Implements `enqueue()`: prepare, then send. Many jobs are sent in slices; a slice is signed while the previous one is being sent. */

import { LongshoreError } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { SendResult, SqlTransaction } from '../../contract/queue.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { compose } from '../app/compose.ts';
import { currentContext, withContext } from '../app/context.ts';
import type { Job } from '../app/job.ts';
import type { EnqueueCall } from '../app/middleware.ts';
import type { EnqueuedJob, EnqueueOptions } from '../app/options.ts';
import type { JobToEnqueue } from './client.ts';
import type { MaybeUnique } from './draft.ts';
import type { Upload } from './offload.ts';
import { prepare, wrongOption } from './prepare.ts';
import { type SendingClient, send } from './send.ts';

/** Small, so that the queue gets the first slice soon and the caller does not wait long for the last. */
const sliceSize = 200;

export async function enqueue(
  client: SendingClient,
  job: Job,
  payload: unknown,
  options: EnqueueOptions = {},
): Promise<EnqueuedJob> {
  if (client.app.middleware.enqueue.length > 0) return enqueueHooked(client, job, payload, options);
  const uploads = newUploads(client);
  const pending = prepare(client, { job, payload, options, uploads });
  const message = pending instanceof Promise ? await pending : pending;
  const [result] = await send(client, [message], uploads, options.tx);
  if (!result?.ok) throw result?.error ?? new LongshoreError('BACKEND', 'The backend gave no result.');
  return enqueued(result, message.queue);
}

async function enqueueHooked(
  client: SendingClient,
  job: Job,
  payload: unknown,
  options: EnqueueOptions,
): Promise<EnqueuedJob> {
  const [result] = await enqueueMany(client, job, [payload], options);
  if (!result?.ok) throw result?.error ?? new LongshoreError('BACKEND', 'The backend gave no result.');
  return enqueued(result, options.queue ?? job.queue);
}

export const enqueued = ({ id, duplicate }: SendResult & { ok: true }, queue: string): EnqueuedJob =>
  duplicate ? { id, queue, duplicate } : { id, queue };

/** Takes a list of jobs, or one job with several payloads. */
export function enqueueMany(client: SendingClient, ...call: ManyCall): Promise<SendResult[]> {
  const [job, payloads, options] = call;
  if (Array.isArray(job)) return enqueueAll(client, job, payloads as EnqueueOptions | undefined);
  const jobs = (payloads as readonly unknown[]).map((payload) => ({ job: job as Job, payload }));
  return enqueueAll(client, jobs, options);
}

export type ManyCall =
  | [jobs: readonly JobToEnqueue<unknown>[], options?: EnqueueOptions]
  | [job: Job, payloads: readonly unknown[], options?: EnqueueOptions];

function enqueueAll(
  client: SendingClient,
  jobs: readonly Partial<JobToEnqueue<unknown>>[],
  { context, tx, ...shared }: EnqueueOptions = {},
): Promise<SendResult[]> {
  const call = {
    job: common(jobs.map((one) => one?.job?.name)),
    queue: common(jobs.map((one) => one?.options?.queue ?? shared.queue ?? one?.job?.queue)),
    count: jobs.length,
  };
  const prepareAt: PrepareAt = (i, uploads) => {
    const { job, payload, options } = jobs[i] ?? {}; // prepare() checks that it is a job
    if ((options as EnqueueOptions | undefined)?.tx !== undefined)
      throw wrongOption('tx in the options of the call, not of one job: all jobs of a call share it');
    const all = options ? { ...shared, ...options } : shared;
    return prepare(client, { job: job as Job, payload, options: all, uploads });
  };
  return enqueueEach(client, call, context ?? currentContext(), prepareAt, tx);
}

/** The value that all have in common; `null` = they differ. */
function common(values: readonly (string | undefined)[]): string | null {
  const [first] = values;
  return first !== undefined && values.every((value) => value === first) ? first : null;
}

/** Prepares the job at this index. A `LongshoreError` that it throws becomes the result of this job. */
export type PrepareAt = (index: number, uploads: Upload[] | null) => MaybeUnique | Promise<MaybeUnique>;

/**
 * Enqueues different jobs with this context. One result per job, in order; an invalid job does not stop the others.
 * @param prepareAt must take the context from `currentContext()`
 */
export function enqueueEach(
  client: SendingClient,
  call: Omit<EnqueueCall, 'backend'>,
  context: JobContext | undefined,
  prepareAt: PrepareAt,
  tx?: SqlTransaction,
): Promise<SendResult[]> {
  const work = () => sendSlices(client, call.count, prepareAt, tx);
  const layers = client.app.middleware.enqueue;
  if (layers.length === 0) return context ? withContext(context, work) : work();
  const whole: EnqueueCall = { backend: client.backend.name, ...call };
  return withContext(context ?? {}, () => compose(layers, whole, work));
}

async function sendSlices(
  client: SendingClient,
  count: number,
  prepareAt: PrepareAt,
  tx: SqlTransaction | undefined,
): Promise<SendResult[]> {
  const results: SendResult[] = new Array(count);
  let underWay: Promise<void> | null = null;
  let failure: LongshoreError | null = null;
  for (let from = 0; from < count && !failure; from += sliceSize) {
    const slice = await prepareSlice(client, from, Math.min(count, from + sliceSize), prepareAt, results);
    // One slice at a time, so that the jobs arrive in order.
    await underWay;
    underWay = send(client, slice.messages, slice.uploads, tx).then(
      (sent) => {
        for (let i = 0; i < sent.length; i++) results[slice.indexes[i]!] = sent[i]!;
      },
      (error) => {
        // If slices are already in the queue, the result of each job tells the caller whether it was sent.
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
  readonly messages: MaybeUnique[];
  /** The index of each message's job. */
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

/** `null` = there is no payload store, so payloads that are too large for the queue are refused. */
const newUploads = ({ stores }: SendingClient): Upload[] | null => (stores.payloads ? [] : null);

/** Drivers write when the event loop turns: signing the next slice at once would hold back this one. */
const twoTurns = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
