/** The sending side: what a web app holds. */

import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import type { EnqueuedJob, EnqueueOptions } from '../app/options.ts';
import type { QueueBackend, SendResult } from '../contract/queue.ts';
import type { CancelResult, JobRecord, Stores } from '../contract/store.ts';
import type { MetricReport, MetricRequest } from '../metrics/report.ts';

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
  /** What became of the attempts of each job lately, and how long they took. Throws `CONFIG` where no numbers are kept. */
  metrics(request?: MetricRequest): Promise<MetricReport>;
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** State that the backend does not keep itself, or that should live elsewhere. */
  readonly store?: Partial<Stores>;
}
