/** One request on its way, and what it is answered. */

import type { Client } from '../../kernel/enqueue/client.ts';
import type { Operator } from '../../operations/types.ts';
import type { Visitor } from './access/identify.ts';
import type { LiveFeed, LiveStreams } from './live/feed.ts';
import type { DashboardFaults } from './options.ts';

/** What all requests share. */
export interface Endpoint {
  readonly client: Client;
  readonly live: LiveFeed;
  readonly faults: DashboardFaults | null;
  /** `null` where an answer cannot last. */
  readonly streams: LiveStreams | null;
  /** Of changes, for this visitor. */
  tokenFor(visitor: Visitor): string;
  operatorFor(visitor: Visitor): Promise<Operator>;
}

/** One request after its sender was identified. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly visitor: Visitor;
  /** Of a change, parsed and not checked; `null` for what is only looked at. */
  readonly body: unknown;
  /** What stands in the path for `:id` or `:name`; empty where there is none. */
  readonly parameter: string;
}

/** What is sent as JSON, or an answer that is made already. */
export type Run = (endpoint: Endpoint, call: Call) => Promise<object | Response>;

export interface Route {
  /** Below `api/`: `jobs/:id/cancel`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly run: Run;
  /** It takes as long as it takes: it ends with its connection. */
  readonly lasts?: true;
}
