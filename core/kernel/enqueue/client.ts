/** The sending side, as a web app uses it. */

import type { QueueBackend, SendResult } from '../../contract/queue.ts';
import type { CancelResult, JobRecord, Stores } from '../../contract/store.ts';
import type { App } from '../app/app.ts';
import type { Batches, SendBatch } from '../app/batch.ts';
import type { Chains, SendChain } from '../app/chain.ts';
import type { EmitOptions } from '../app/durable.ts';
import type { Job } from '../app/job.ts';
import type { Jsonified } from '../app/jsonified.ts';
import type { MetricReport, MetricRequest } from '../app/metric-report.ts';
import type { EnqueuedJob, EnqueueOptions, WatchOptions } from '../app/options.ts';
import type { Schedules } from '../app/stored-schedule.ts';

export interface Client {
  readonly app: App;
  readonly backend: QueueBackend;
  readonly stores: Stores;
  /** The name of its backend, if the app has several. */
  readonly name?: string;
  /** If the app has several backends: a client per backend that this process uses, by name. */
  readonly backends?: ReadonlyMap<string, Client>;
  /** Enqueues a job. Throws `PAYLOAD`, `LIMIT`, `OPTION`, `CONFIG` or `UNKNOWN_JOB` before anything is sent; `BACKEND` or `QUEUE_FULL` if sending fails. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** Enqueues a job per payload. One result per payload, in order; an invalid payload does not stop the others. */
  enqueueMany<Input>(
    job: Job<Input>,
    payloads: readonly NoInfer<Input>[],
    options?: EnqueueOptions,
  ): Promise<SendResult[]>;
  /** Enqueues different jobs in one call, each with its own options. All share the transaction. */
  enqueueMany<const Inputs extends readonly unknown[]>(
    jobs: { readonly [I in keyof Inputs]: JobToEnqueue<Inputs[I]> },
    options?: Pick<EnqueueOptions, 'tx' | 'context'>,
  ): Promise<{ -readonly [I in keyof Inputs]: SendResult }>;
  /** Enqueues many jobs as one batch: docs/batches.md. */
  readonly batch: SendBatch;
  readonly batches: Batches;
  /** Runs jobs one after another, each with the result of the previous one: docs/chains.md. */
  readonly chain: SendChain;
  readonly chains: Chains;
  /** The record of a job; `null` = the job is unknown, or no longer kept. */
  status(id: string): Promise<JobRecord | null>;
  /**
   * Waits until a job has ended, and resolves with its output from the record; `null` = the handler returned nothing, or its output was not kept.
   * Rejects with `HANDLER`, `CANCELLED` or `EXPIRED` and the job's error if the job did not complete; with `TIMEOUT` if it has not ended in time
   * (the job goes on); with `NOT_FOUND` if the id is unknown or belongs to another job; and with `CONFIG` if no records are kept.
   */
  result<Input, Output>(
    job: Job<Input, Output>,
    id: string,
    options: ResultOptions,
  ): Promise<Jsonified<Awaited<Output>> | null>;
  /**
   * Yields the record of a job each time it changed, within about a second, and ends with its end: a progress bar without polling. Throws
   * `NOT_FOUND` if the id is unknown or its record is no longer kept, and `CONFIG` if no records are kept.
   */
  watch(id: string, options?: WatchOptions): AsyncIterable<JobRecord>;
  /** Cancels a job: a waiting job at once, a running one within about a second (`cancelling`). */
  cancel(id: string): Promise<CancelResult>;
  /**
   * Changes a waiting job: missing members of `change` stay as they are, and so do its id and attempts. Resolves with `false` if the job no longer
   * waits, or is unknown. Throws as `enqueue`, and `CONFIG` on a backend that cannot find a waiting job by its id.
   */
  update<Input>(job: Job<Input>, id: string, change: JobChange<NoInfer<Input>>): Promise<boolean>;
  /** Runs a job now that is delayed or waits for its next attempt. Resolves and throws as `update`. */
  promote(id: string): Promise<boolean>;
  /** Deletes a waiting job and its record, as if it had never been enqueued. Resolves and throws as `update`. */
  remove(id: string): Promise<boolean>;
  /**
   * Sends an event to the jobs that wait for it with `ctx.waitFor`, and wakes them. Resolves with the number of jobs that got it. `payload`: plain
   * JSON data, at most 65,536 characters. It is safe to repeat a failed call: a job gets an event once. Throws `OPTION`, `PAYLOAD` or `LIMIT`
   * before anything is written, and `CONFIG` if no store keeps steps.
   */
  emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  /** Schedules made at run time, beside those in code. */
  readonly schedules: Schedules;
  /** How the recent attempts of each job ended, and how long they took. Throws `CONFIG` if no store keeps metrics. */
  metrics(request?: MetricRequest): Promise<MetricReport>;
  /** Closes the backend and the given store. */
  close(): Promise<void>;
}

export interface JobToEnqueue<Input> {
  readonly job: Job<Input>;
  readonly payload: NoInfer<Input>;
  readonly options?: Omit<EnqueueOptions, 'tx'>;
}

export interface JobChange<Input> extends Pick<EnqueueOptions, 'delayMs' | 'runAt' | 'priority'> {
  /** The whole new payload. An idempotency key that the job derives from its payload is derived again. */
  readonly payload?: Input;
}

export interface ResultOptions {
  /** How long to wait, ms. 0 = look once. */
  readonly timeoutMs: number;
  /** Stops the wait. The job goes on. */
  readonly signal?: AbortSignal;
}

export interface ConnectOptions {
  /** Stores for state that the backend does not keep itself, or that should be kept elsewhere. */
  readonly store?: Partial<Stores>;
}
