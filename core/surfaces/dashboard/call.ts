/** The types of a request to the dashboard and its handler. */

import type { Client } from '../../kernel/enqueue/client.ts';
import type { Operator } from '../../operations/types.ts';
import type { Visitor } from './access/identify.ts';
import type { LiveFeed, LiveStreams } from './live/feed.ts';
import type { DashboardFaults } from './options.ts';

/** Shared by all requests. */
export interface Endpoint {
  readonly client: Client;
  readonly live: LiveFeed;
  readonly faults: DashboardFaults | null;
  /** `null` if the host cannot stream. */
  readonly streams: LiveStreams | null;
  /** A change token for this visitor. */
  tokenFor(visitor: Visitor): string;
  operatorFor(visitor: Visitor): Promise<Operator>;
}

/** A request whose sender is identified. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly visitor: Visitor;
  /** Parsed but not validated; `null` for a GET. */
  readonly body: unknown;
  /** The value of `:id` or `:name` in the path; empty if the path has none. */
  readonly parameter: string;
}

/** An object is sent as JSON. */
export type Run = (endpoint: Endpoint, call: Call) => Promise<object | Response>;

export interface Route {
  /** The path below `api/`, like `jobs/:id/cancel`. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly run: Run;
  /** No time limit: it ends with its connection. */
  readonly lasts?: true;
}
