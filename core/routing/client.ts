/** A client of several backends. */

import type { CancelResult, JobRecord, Stores } from '../contract/store.ts';
import type { App } from '../kernel/app/app.ts';
import type { Job } from '../kernel/app/job.ts';
import type { Jsonified } from '../kernel/app/jsonified.ts';
import type { MetricReport, MetricRequest } from '../kernel/app/metric-report.ts';
import type { EnqueueOptions, WatchOptions } from '../kernel/app/options.ts';
import type { Client, ResultOptions } from '../kernel/enqueue/client.ts';
import type { SendingClient } from '../kernel/enqueue/send.ts';

export interface RoutingOptions {
  /** Stores by backend name, for state that a backend does not keep itself, or that should be kept elsewhere. */
  readonly store?: Readonly<Record<string, Partial<Stores>>>;
  /** Where new jobs of a backend go while it does not answer: `{ fast: 'default' }`. @default nowhere: the call fails */
  readonly failover?: Readonly<Record<string, string>>;
}

export interface OfBackend {
  /** Asks only the backend of this name. @default all backends, 'default' first */
  readonly backend?: string;
}

/** Sends each job to the backend that it belongs to. Its `backend` and `stores` are those of the first backend that this process uses. */
export interface RoutedClient extends Client {
  readonly name: string;
  readonly backends: ReadonlyMap<string, Client>;
  status(id: string, of?: OfBackend): Promise<JobRecord | null>;
  result<Input, Output>(
    job: Job<Input, Output>,
    id: string,
    options: ResultOptions & OfBackend,
  ): Promise<Jsonified<Awaited<Output>> | null>;
  watch(id: string, options?: WatchOptions & OfBackend): AsyncIterable<JobRecord>;
  cancel(id: string, of?: OfBackend): Promise<CancelResult>;
  metrics(request?: MetricRequest & OfBackend): Promise<MetricReport>;
  /** The backend that takes this job, for a surface that prepares messages itself. Throws as `enqueue` does. */
  sending(
    job: Job,
    options: EnqueueOptions,
  ): Promise<{ readonly name: string; readonly client: SendingClient }>;
}

/** The data that the verbs of a routed client share. */
export interface Routing {
  readonly app: App;
  /** The names of all backends of the app, 'default' first. */
  readonly names: readonly string[];
  /** The clients of the backends that this process uses, in the same order. */
  readonly clients: ReadonlyMap<string, Client>;
  readonly failover: Readonly<Record<string, string>>;
}
