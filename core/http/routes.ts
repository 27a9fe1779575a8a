/** Which path and method means what. */

import type { Client } from '../enqueue/client.ts';
import type { JobContext } from '../envelope/envelope.ts';
import type { Caller } from './auth.ts';
import { enqueueMany, enqueueOne } from './enqueue.ts';
import { Refusal } from './problem.ts';
import { cancelJob, showJob } from './records.ts';

/** What all requests share. */
export interface Endpoint {
  readonly client: Client;
  readonly basePath: string;
  readonly maxBodyBytes: number;
  readonly maxBatch: number;
  readonly stacks: boolean;
  /** Throws 429. */
  takeTokens(caller: Caller, cost: number): void;
  /** Tells the log what a caller is not told. */
  report(refusal: Refusal): void;
}

/** One request whose sender is known. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly caller: Caller;
  readonly context: JobContext;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

type Run = (endpoint: Endpoint, call: Call, parameter: string) => Promise<Answer>;

interface Route {
  readonly path: RegExp;
  readonly methods: Readonly<Record<string, Run>>;
}

const routes: readonly Route[] = [
  { path: /^\/jobs$/, methods: { POST: enqueueMany } },
  { path: /^\/jobs\/([^/]+)$/, methods: { GET: showJob, POST: enqueueOne, DELETE: cancelJob } },
  {
    path: /^\/openapi\.json$/,
    methods: {
      async GET({ client, basePath }, { caller }) {
        const { openApiOf } = await import('./openapi.ts'); // most processes never need it
        const jobs = [...client.app.jobs.values()].filter(({ name }) => caller.jobs?.has(name) !== false);
        return { status: 200, body: openApiOf(jobs, basePath) };
      },
    },
  },
];

export interface Match {
  readonly allow: string;
  readonly run: Run | undefined;
  readonly parameter: string;
}

/** `null`: no such path. The path comes without the base path. */
export function match(path: string, method: string): Match | null {
  for (const route of routes) {
    const found = route.path.exec(path);
    if (!found) continue;
    const { methods } = route;
    const named = Object.keys(methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return { allow: [...named, 'OPTIONS'].join(', '), run, parameter: found[1] ?? '' };
  }
  return null;
}

export function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch (cause) {
    const detail =
      'Expected a path with valid percent-encoding, got another. Encode the name with encodeURIComponent.';
    throw new Refusal(400, 'REQUEST', detail, { cause });
  }
}
