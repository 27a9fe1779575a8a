/** The sending side: what a web app holds. */

import type { QueueBackend, SendResult } from '../../contract/queue.ts';
import type { CancelResult, JobRecord, Stores } from '../../contract/store.ts';
import type { App } from '../app/app.ts';
import type { Batches, SendBatch } from '../app/batch.ts';
import type { Chains, SendChain } from '../app/chain.ts';
import type { EmitOptions } from '../app/durable.ts';
import type { Job } from '../app/job.ts';
import type { Jsonified } from '../app/jsonified.ts';
import type { MetricReport, MetricRequest } from '../app/metric-report.ts';
import type { EnqueuedJob, EnqueueOptions } from '../app/options.ts';
import type { Schedules } from '../app/stored-schedule.ts';

export interface Client {
  readonly app: App;
  readonly backend: QueueBackend;
  readonly stores: Stores;
  /** Of its backend, where the app has several. */
  readonly name?: string;
  /** Where the app has several: a client of each that this process uses, by name, whose `enqueue` sends to that one. */
  readonly backends?: ReadonlyMap<string, Client>;
  /** Throws `PAYLOAD`, `LIMIT`, `OPTION`, `CONFIG` or `UNKNOWN_JOB` before anything is sent, `BACKEND` and its kin when sending fails. */
  enqueue<Input>(job: Job<Input>, payload: NoInfer<Input>, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** One result per payload, in order; what is wrong with one does not stop the others. */
  enqueueMany<Input>(
    job: Job<Input>,
    payloads: readonly NoInfer<Input>[],
    options?: EnqueueOptions,
  ): Promise<SendResult[]>;
  /** Jobs of several kinds in one call, each with options of its own. All share the transaction. */
  enqueueMany<const Inputs extends readonly unknown[]>(
    jobs: { readonly [I in keyof Inputs]: JobToEnqueue<Inputs[I]> },
    options?: Pick<EnqueueOptions, 'tx' | 'context'>,
  ): Promise<{ -readonly [I in keyof Inputs]: SendResult }>;
  /** Jobs that belong together: docs/batches.md. */
  readonly batch: SendBatch;
  readonly batches: Batches;
  /** Jobs one after another, each with what the one before has returned: docs/chains.md. */
  readonly chain: SendChain;
  readonly chains: Chains;
  /** `null` for a job that is not known or no longer kept. */
  status(id: string): Promise<JobRecord | null>;
  /**
   * Waits for the end of a job and resolves with its output, as its record keeps it; `null` where it returned nothing that is kept.
   * Rejects with `HANDLER`, `CANCELLED` or `EXPIRED` and the job's error when it ended otherwise, with `TIMEOUT` when it has not ended in time
   * (it goes on), with `NOT_FOUND` for an id that is not known or of another job, and with `CONFIG` where no records are kept.
   */
  result<Input, Output>(
    job: Job<Input, Output>,
    id: string,
    options: ResultOptions,
  ): Promise<Jsonified<Awaited<Output>> | null>;
  cancel(id: string): Promise<CancelResult>;
  /**
   * Changes a job that waits: what is not given stays. Its id and its attempts stay, too. Resolves with `false` when it does not wait any more, or
   * is not known. Throws as `enqueue`, and `CONFIG` on a backend that finds no waiting job by its id.
   */
  update<Input>(job: Job<Input>, id: string, change: JobChange<NoInfer<Input>>): Promise<boolean>;
  /** Lets a job that is delayed, or waits for its next attempt, run now. Resolves and throws as `update`. */
  promote(id: string): Promise<boolean>;
  /** Takes a job that waits out of the queue, with its record: as if it had never been enqueued. Resolves and throws as `update`. */
  remove(id: string): Promise<boolean>;
  /**
   * Brings an event to the jobs that wait for it with `ctx.waitFor`, and wakes them. Resolves with how many got it. `payload` is plain JSON data, 65,536
   * characters at most. A call that failed may be made again: a job gets an event once. Throws `OPTION`, `PAYLOAD` or `LIMIT` before
   * anything is written, and `CONFIG` where no steps are kept.
   */
  emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number>;
  /** Schedules made at run time, beside those in code. */
  readonly schedules: Schedules;
  /** What became of the attempts of each job lately, and how long they took. Throws `CONFIG` where no numbers are kept. */
  metrics(request?: MetricRequest): Promise<MetricReport>;
  close(): Promise<void>;
}

export interface JobToEnqueue<Input> {
  readonly job: Job<Input>;
  readonly payload: NoInfer<Input>;
  readonly options?: Omit<EnqueueOptions, 'tx'>;
}

export interface JobChange<Input> extends Pick<EnqueueOptions, 'delayMs' | 'runAt' | 'priority'> {
  /** The whole new payload. An idempotency key that the job makes of its payload is made anew. */
  readonly payload?: Input;
}

export interface ResultOptions {
  /** How long to wait. 0 = only look. */
  readonly timeoutMs: number;
  /** Ends the wait, not the job. */
  readonly signal?: AbortSignal;
}

export interface ConnectOptions {
  /** State that the backend does not keep itself, or that should live elsewhere. */
  readonly store?: Partial<Stores>;
}
