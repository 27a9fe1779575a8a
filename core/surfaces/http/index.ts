/**
 * Jobs over HTTP, as a function from a `Request` to a `Response`, for any server that uses fetch types.
 * `docs/http.md` describes routes, credentials and answers.
 */

import { randomUUID } from 'node:crypto';
import { checkInteger } from '../../base/checks.ts';
import type { Clock } from '../../base/clock.ts';
import { config, shown } from '../../base/errors.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import {
  type ApiKey,
  type Authenticate,
  type Authorization,
  type Authorize,
  byAuthorize,
  byKeys,
  type Caller,
  newDevelopmentToken,
} from './auth.ts';
import type { Answer, Endpoint, MetricsText } from './call.ts';
import { enqueueMany, enqueueOne } from './enqueue.ts';
import {
  checkBasePath,
  decoded,
  refuseOtherHosts,
  refuseOtherSites,
  report,
  requestIdOf,
  securityHeaders,
  traceparentOf,
} from './mount.ts';
import { problemOf, Refusal, refusalOf } from './problem.ts';

export type { ApiKey, Authorization, Authorize, RateLimit };

/** The limit of the clouds' API gateways. */
const withPayloadsBytes = 10 * 1_048_576;

/** Give exactly one of `apiKeys`, `authorize` and `development`. */
export interface HttpOptions {
  readonly apiKeys?: readonly ApiKey[];
  readonly authorize?: Authorize;
  /** Creates a token for this process, and serves only localhost, 127.0.0.1 and [::1]. @default false */
  readonly development?: boolean;
  /** Largest body in bytes. @default the largest envelope of app and backend (1_048_576); 10_485_760 with a payload store */
  readonly maxBodyBytes?: number;
  /** Most jobs in one request; capped at the burst of `rateLimit`. @default 1_000 */
  readonly maxBatch?: number;
  /** Per credential and process. Each job of a bulk request counts as one request. @default { perSecond: 100, burst: 1_000 } */
  readonly rateLimit?: RateLimit | false;
  /** Largest `timeoutMs` of `GET /jobs/:id/result`. Set it below the timeout of your proxy or gateway. @default 20_000 */
  readonly resultTimeoutMs?: number;
  /**
   * The longest event stream (`GET /jobs/:id/events`), after which a browser connects again and is authenticated again. 0 = the stream ends
   * behind the current state, for a platform that cannot stream. @default 300_000; 0 on the clouds
   */
  readonly streamTimeoutMs?: number;
  /** Most event streams at once per credential and process. @default 100 */
  readonly maxStreams?: number;
  /** The path where the routes are mounted, like `/api`. @default '' */
  readonly basePath?: string;
  /** Whether a record includes the stack traces of its attempts. @default false */
  readonly stacks?: boolean;
  /** Serves `GET /metrics` to callers without a tenant that may see all jobs. @default no such path */
  readonly metrics?: MetricsText;
  /** For tests: replaces request ids (random UUIDs) and the development token (192 random bits). */
  readonly testing?: { readonly newRequestId?: () => string; readonly newToken?: () => string };
}

export interface HttpHandler {
  /** Never rejects. A failure is answered with a 5xx and emitted as the event `http.failed`. */
  (request: Request): Promise<Response>;
  /** The token in development, to be printed at the start; `null` otherwise. */
  readonly developmentToken: string | null;
}

/** Throws `CONFIG` unless exactly one of `apiKeys`, `authorize` and `development` is given. */
export function createHttpHandler(client: Client, options: HttpOptions): HttpHandler {
  const { app } = client;
  const all = eachOf(client);
  const largest = Math.max(...all.map(({ backend }) => backend.limits.maxBodyBytes));
  const oneEnvelope = Math.min(app.maxBodyBytes, largest);
  const hasPayloads = all.some(({ stores }) => stores.payloads);
  const mostBytes = hasPayloads ? Math.max(oneEnvelope, withPayloadsBytes) : oneEnvelope;
  const { maxBodyBytes = mostBytes, maxBatch = 1_000 } = options;
  const {
    basePath = '',
    stacks = false,
    resultTimeoutMs = 20_000,
    streamTimeoutMs = 300_000,
    maxStreams = 100,
    metrics = null,
    testing: { newRequestId = randomUUID } = {},
  } = options;
  checkInteger('maxBodyBytes of the HTTP handler', maxBodyBytes, 1);
  checkInteger('maxBatch of the HTTP handler', maxBatch, 1);
  checkInteger('resultTimeoutMs of the HTTP handler', resultTimeoutMs, 0);
  checkInteger('streamTimeoutMs of the HTTP handler', streamTimeoutMs, 0);
  checkInteger('maxStreams of the HTTP handler', maxStreams, 0);
  checkBasePath(basePath, '/api');
  const { authenticate, developmentToken } = credentialsOf(client, options);
  const { rateLimit = { perSecond: 100, burst: 1_000 } } = options;
  const take = tokenBuckets(rateLimit, app.clock);
  const mostJobs = rateLimit === false ? maxBatch : Math.min(maxBatch, burstOf(rateLimit));

  function takeTokens({ tenantId, actorId }: Caller, cost: number): void {
    const waitMs = take(JSON.stringify([tenantId, actorId]), cost);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1000);
    const detail = `Expected fewer requests from this credential, got more than its rate allows. Wait ${seconds} s, then repeat.`;
    throw new Refusal(429, 'RATE_LIMIT', detail, { headers: { 'retry-after': String(seconds) } });
  }

  const streams = new Map<string, number>();

  function takeStream({ tenantId, actorId }: Caller): () => void {
    const key = JSON.stringify([tenantId, actorId]);
    const open = streams.get(key) ?? 0;
    if (open >= maxStreams) {
      const detail = `Expected at most ${maxStreams} event streams of this credential, got one more. Close one, or set maxStreams.`;
      throw new Refusal(429, 'RATE_LIMIT', detail, { headers: { 'retry-after': '10' } });
    }
    streams.set(key, open + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = streams.get(key)! - 1;
      if (left > 0) streams.set(key, left);
      else streams.delete(key);
    };
  }

  async function respond(request: Request, url: URL, requestId: string): Promise<Answer> {
    // Some frameworks, such as Next.js with `trailingSlash`, redirect to an address with a slash at its end.
    const path = url.pathname.startsWith(basePath)
      ? url.pathname.slice(basePath.length).replace(/(.)\/$/, '$1')
      : '';
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    // Open to health probes, which have no credential and use an IP address as host.
    if (path === '/healthz' && method === 'GET') return { status: 200, body: { status: 'ok' } };
    if (developmentToken !== null) refuseOtherHosts(request, url);
    refuseOtherSites(request);
    const found = path === '/healthz' ? health : await routeOf(path, method, metrics !== null);
    // Sends no CORS headers, so browsers stop after the preflight.
    if (method === 'OPTIONS' && found) return { status: 204, body: null, headers: { allow: found.allow } };
    const caller = await authenticate(request);
    takeTokens(caller, 1);
    if (!found) {
      const detail = `Expected a path of this API, got ${shown(url.pathname)}. GET ${basePath}/openapi.json lists them.`;
      throw new Refusal(404, 'NOT_FOUND', detail);
    }
    if (!found.run) {
      const { allow } = found;
      const detail = `Expected one of the methods ${allow} for this path, got ${shown(request.method)}. Use one of them.`;
      throw new Refusal(405, 'REQUEST', detail, { headers: { allow } });
    }
    const traceparent = traceparentOf(request);
    const context = {
      ...(caller.tenantId !== null && { tenantId: caller.tenantId }),
      ...(caller.actorId !== null && { actorId: caller.actorId }),
      requestId,
      ...(traceparent !== null && { traceparent }),
    };
    const endpoint: Endpoint = {
      client,
      basePath,
      maxBodyBytes,
      maxBatch: mostJobs,
      resultTimeoutMs,
      streamTimeoutMs,
      stacks,
      metrics,
      takeTokens,
      takeStream,
      report: (refusal) => report(app, refusal, request.method, requestId),
    };
    return found.run(endpoint, { request, url, caller, context }, decoded(found.parameter));
  }

  async function handle(request: Request): Promise<Response> {
    const requestId = requestIdOf(request, newRequestId);
    const bare = request.method === 'HEAD';
    try {
      const answer = await respond(request, new URL(request.url), requestId);
      return responseOf(answer, 'application/json', requestId, bare);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal.status >= 500) report(app, refusal, request.method, requestId);
      const { status, headers } = refusal;
      const answer = { status, headers, body: { ...problemOf(refusal), requestId } };
      return responseOf(answer, 'application/problem+json', requestId, bare);
    }
  }

  return Object.assign(handle, { developmentToken });
}

/** Most processes only enqueue, so the other routes are loaded with the first request for one of them. */
async function routeOf(path: string, method: string, hasMetrics: boolean) {
  const [enqueues, name] = (method === 'POST' && /^\/jobs(?:\/([^/]+))?$/.exec(path)) || [];
  if (enqueues === undefined) return (await import('./routes.ts')).match(path, method, hasMetrics);
  return { allow: '', run: name === undefined ? enqueueMany : enqueueOne, parameter: name ?? '' };
}

const health = { allow: 'GET, HEAD, OPTIONS', run: undefined, parameter: '' };

function credentialsOf(
  { app }: Client,
  { apiKeys, authorize, development, testing: { newToken = newDevelopmentToken } = {} }: HttpOptions,
): { authenticate: Authenticate; developmentToken: string | null } {
  const given = [apiKeys !== undefined, authorize !== undefined, development === true];
  if (given.filter(Boolean).length !== 1) {
    throw config(
      `Expected exactly one of apiKeys, authorize and development: true for the HTTP handler, got ${given.some(Boolean) ? 'several' : 'none'}. Without one everybody could enqueue jobs.`,
    );
  }
  if (apiKeys !== undefined) return { authenticate: byKeys(apiKeys, app), developmentToken: null };
  if (authorize !== undefined) return { authenticate: byAuthorize(authorize), developmentToken: null };
  const developmentToken = newToken();
  return {
    authenticate: byKeys([{ id: 'development', key: developmentToken, schedules: true, events: true }], app),
    developmentToken,
  };
}

function responseOf(answer: Answer, type: string, requestId: string, bare: boolean): Response {
  const headers: Record<string, string> = {
    ...securityHeaders,
    ...answer.headers,
    'x-request-id': requestId,
  };
  if (answer.status === 204) return new Response(null, { status: 204, headers });
  const { body, contentType } = answer;
  headers['content-type'] = contentType ?? type;
  if (body instanceof ReadableStream) {
    if (bare) void body.cancel();
    return new Response(bare ? null : body, { status: answer.status, headers });
  }
  const text = contentType === undefined ? JSON.stringify(body) : String(body);
  return new Response(bare ? null : text, { status: answer.status, headers });
}

interface RateLimit {
  /** Average rate of requests per second. */
  readonly perSecond: number;
  /** Most requests at once, after a pause. @default perSecond */
  readonly burst?: number;
}

/** Takes `cost` tokens (at most the burst) and returns 0, or takes none and returns the ms to wait. */
type TakeTokens = (key: string, cost: number) => number;

/** Most buckets in memory. The one unused for longest is dropped; its caller then starts with a full bucket. */
const mostBuckets = 10_000;

const burstOf = ({ perSecond, burst = Math.ceil(perSecond) }: RateLimit): number => burst;

function tokenBuckets(limit: RateLimit | false, clock: Clock): TakeTokens {
  if (limit === false) return () => 0;
  const { perSecond } = limit;
  const burst = burstOf(limit);
  if (!Number.isFinite(perSecond) || perSecond <= 0) {
    throw config(
      `Expected rateLimit.perSecond to be a number above 0, got ${shown(perSecond)}. Use rateLimit: false for none.`,
    );
  }
  checkInteger('rateLimit.burst', burst, 1);
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (key, cost) => {
    const now = clock.now();
    const bucket = buckets.get(key) ?? { tokens: burst, at: now };
    buckets.delete(key); // moves it to the end: the map is in order of last use
    buckets.set(key, bucket);
    if (buckets.size > mostBuckets) buckets.delete(buckets.keys().next().value!);
    const passedMs = Math.max(0, now - bucket.at); // a clock that is set back must not empty the bucket
    bucket.tokens = Math.min(burst, bucket.tokens + (passedMs * perSecond) / 1000);
    bucket.at = now;
    if (bucket.tokens >= cost) {
      bucket.tokens -= cost;
      return 0;
    }
    return Math.ceil(((cost - bucket.tokens) * 1000) / perSecond);
  };
}
