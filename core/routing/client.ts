/** A client of several backends. */

import type { CancelResult, JobRecord, Stores } from '../contract/store.ts';
import type { App } from '../kernel/app/app.ts';
import type { Job } from '../kernel/app/job.ts';
import type { Jsonified } from '../kernel/app/jsonified.ts';
import type { MetricReport, MetricRequest } from '../kernel/app/metric-report.ts';
import type { Client, ResultOptions } from '../kernel/enqueue/client.ts';

export interface RoutingOptions {
  /** State of backends that keep none themselves, or that should live elsewhere, by the name of the backend. */
  readonly store?: Readonly<Record<string, Partial<Stores>>>;
  /** Where new jobs of a backend go while it does not answer: `{ fast: 'default' }`. @default nowhere, the call fails */
  readonly failover?: Readonly<Record<string, string>>;
}

export interface OfBackend {
  /** Asks this one alone. @default all, 'default' first */
  readonly backend?: string;
}

/** Sends each job to the backend it belongs to. Its own `backend` and `stores` are those of the first one that this process uses. */
export interface RoutedClient extends Client {
  readonly name: string;
  readonly backends: ReadonlyMap<string, Client>;
  status(id: string, of?: OfBackend): Promise<JobRecord | null>;
  result<Input, Output>(
    job: Job<Input, Output>,
    id: string,
    options: ResultOptions & OfBackend,
  ): Promise<Jsonified<Awaited<Output>> | null>;
  cancel(id: string, of?: OfBackend): Promise<CancelResult>;
  metrics(request?: MetricRequest & OfBackend): Promise<MetricReport>;
}

/** What its verbs work with. */
export interface Routing {
  readonly app: App;
  /** All that the app has, 'default' first. */
  readonly names: readonly string[];
  /** Those that this process uses, in the same order. */
  readonly clients: ReadonlyMap<string, Client>;
  readonly failover: Readonly<Record<string, string>>;
}
