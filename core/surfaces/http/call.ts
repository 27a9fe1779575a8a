/** One request on its way, and what it is answered. */

import type { JobContext } from '../../envelope/envelope.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { Caller } from './auth.ts';
import type { Refusal } from './problem.ts';

/** What `metrics()` of `longshore/prometheus` makes. */
export interface MetricsText {
  text(): Promise<string>;
  readonly contentType: string;
}

/** What all requests share. */
export interface Endpoint {
  readonly client: Client;
  readonly basePath: string;
  readonly maxBodyBytes: number;
  readonly maxBatch: number;
  readonly resultTimeoutMs: number;
  readonly stacks: boolean;
  readonly metrics: MetricsText | null;
  /** Throws 429. */
  takeTokens(caller: Caller, cost: number): void;
  /** Logs what the answer leaves out. */
  report(refusal: Refusal): void;
}

/** One request after its sender was identified. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly caller: Caller;
  readonly context: JobContext;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Of a body that is text already; without it the body is sent as JSON. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
