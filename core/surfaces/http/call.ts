/** The types of an HTTP request and its answer. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { Caller } from './auth.ts';
import type { Refusal } from './problem.ts';

/** The result of `metrics()` of `longshore/prometheus`. */
export interface MetricsText {
  text(): Promise<string>;
  readonly contentType: string;
}

/** Shared by all requests. */
export interface Endpoint {
  readonly client: Client;
  readonly basePath: string;
  readonly maxBodyBytes: number;
  readonly maxBatch: number;
  readonly resultTimeoutMs: number;
  readonly streamTimeoutMs: number;
  readonly stacks: boolean;
  readonly metrics: MetricsText | null;
  /** Throws 429 if the caller exceeds its rate. */
  takeTokens(caller: Caller, cost: number): void;
  /** Counts an event stream until the returned function is called. Throws 429 if the caller has too many. */
  takeStream(caller: Caller): () => void;
  /** Reports the cause of an error that the answer hides. */
  report(refusal: Refusal): void;
}

/** A request whose sender is authenticated. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly caller: Caller;
  readonly context: JobContext;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Content type of a body that is a text or a stream. Without it the body is sent as JSON. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
