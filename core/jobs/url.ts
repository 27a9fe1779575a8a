/**
 * A job that calls a URL from an untrusted source. It goes to public addresses only, to exactly those it has
 * checked, and through every redirect anew. `docs/jobs.md` says what that protects from.
 */

import { createHash } from 'node:crypto';
import { checkInteger } from '../base/checks.ts';
import { config, PermanentError, RetryAfterError, shown } from '../base/errors.ts';
import { defineJob, type HandlerContext, type Job } from '../kernel/app/job.ts';
import {
  type CommonOptions,
  checkFunction,
  checkKeptBytes,
  checkOptions,
  commonOf,
  isRecord,
} from './checks.ts';
import { type Answer, type Hop, label } from './exchange.ts';
import { isRedirect, nextHop } from './redirects.ts';
import { retryAfterMs } from './retry-after.ts';
import { type Lookup, parseTarget, targetPolicy } from './targets.ts';
import { decode, fitJson } from './text.ts';
import { type UrlPayload, urlPayload } from './url-payload.ts';
import { systemLookup, visit } from './visit.ts';
import { checkSecret, signatureHeader, signatureOf, type WebhookSecret } from './webhook-signature.ts';

export interface UrlJobDefinition extends CommonOptions<UrlPayload> {
  /** @default 'url' */
  readonly name?: string;
  /** For the whole attempt, redirects included. @default 30_000 */
  readonly timeoutMs?: number;
  /** For DNS, connection and TLS of each request. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** Only these hosts: `api.example.com`, or `*.example.com` for everything below it. @default any public host */
  readonly allowHosts?: readonly string[];
  /**
   * For development and tests: `host:port` that may have a loopback or private address. Dangerous in production, where
   * anybody who can enqueue could reach that service. Metadata and link-local addresses stay refused.
   */
  readonly allowPrivate?: readonly string[];
  /** @default 3 */
  readonly maxRedirects?: number;
  /** A larger answer fails the job. @default 1_048_576 */
  readonly maxResponseBytes?: number;
  /** @default 16_384 */
  readonly maxHeaderBytes?: number;
  /** Longest wait that a receiver's Retry-After can ask for. @default 3_600_000 */
  readonly maxRetryAfterMs?: number;
  /** Signs each call; see `verifyWebhook`. At least 32 bytes. */
  readonly signWith?: WebhookSecret;
  /** Puts the start of the answer into the job's output. At most 32_768. @default the body is not kept */
  readonly keepBody?: { readonly maxBytes: number };
  /** For tests: DNS (by default `dns.promises.lookup` with `all`) and the clock in epoch ms. */
  readonly testing?: { readonly lookup?: Lookup; readonly now?: () => number };
}

/** The output of a call that succeeded, as `status()` shows it. */
export interface UrlResult {
  readonly status: number;
  /** Length of the answer's body. */
  readonly bytes: number;
  /** With `keepBody`: its start as text, or `null` when it came compressed. */
  readonly body?: string | null;
}

type Settings = ReturnType<typeof settingsOf>;

const own = [
  'connectTimeoutMs',
  'allowHosts',
  'allowPrivate',
  'maxRedirects',
  'maxResponseBytes',
  'maxHeaderBytes',
  'maxRetryAfterMs',
  'signWith',
  'keepBody',
  'testing',
];

/** Throws `CONFIG` for a wrong option. A payload that it would refuse to call is refused by `enqueue`. */
export function urlJob(definition: UrlJobDefinition = {}): Job<UrlPayload> {
  const settings = settingsOf(definition);
  return defineJob({
    name: 'url',
    timeoutMs: 30_000,
    ...commonOf(definition),
    payload: urlPayload(settings.policy),
    handle: (payload, ctx) => call(payload, ctx, settings),
  });
}

function settingsOf(definition: UrlJobDefinition) {
  checkOptions('urlJob', definition, own);
  const { connectTimeoutMs = 10_000, maxRedirects = 3, maxRetryAfterMs = 3_600_000, keepBody } = definition;
  const { maxResponseBytes = 1_048_576, maxHeaderBytes = 16_384, signWith } = definition;
  const { lookup = systemLookup, now = Date.now } = definition.testing ?? {};
  checkInteger('connectTimeoutMs of urlJob()', connectTimeoutMs, 1);
  checkInteger('maxRedirects of urlJob()', maxRedirects, 0);
  checkInteger('maxResponseBytes of urlJob()', maxResponseBytes, 1);
  checkInteger('maxHeaderBytes of urlJob()', maxHeaderBytes, 1024);
  checkInteger('maxRetryAfterMs of urlJob()', maxRetryAfterMs, 1000);
  if (signWith !== undefined) checkSecret('signWith of urlJob()', signWith);
  checkFunction('urlJob', 'testing.lookup', lookup);
  checkFunction('urlJob', 'testing.now', now);
  if (keepBody !== undefined) {
    if (!isRecord(keepBody))
      throw config(`urlJob() expects keepBody to be { maxBytes }, got ${shown(keepBody)}.`);
    checkKeptBytes('keepBody.maxBytes of urlJob()', keepBody.maxBytes, 1);
  }
  return {
    policy: targetPolicy(definition.allowHosts, definition.allowPrivate),
    lookup,
    now,
    connectTimeoutMs,
    maxRedirects,
    maxResponseBytes,
    maxHeaderBytes,
    maxRetryAfterMs,
    keepBytes: keepBody?.maxBytes ?? 0,
    secret: signWith ?? null,
  };
}

async function call(payload: UrlPayload, ctx: HandlerContext, settings: Settings): Promise<UrlResult> {
  let hop = firstHop(payload, ctx, settings);
  for (let redirects = 0; ; redirects++) {
    const answer = await visit(hop, settings, ctx.signal);
    if (!isRedirect(answer.status)) return resultOf(hop, answer, settings);
    if (redirects === settings.maxRedirects) {
      throw new PermanentError(
        `${label(hop)} answered ${answer.status} after ${redirects} redirects, the most that are followed.`,
      );
    }
    hop = nextHop(hop, answer);
  }
}

function firstHop(payload: UrlPayload, ctx: HandlerContext, { secret, now }: Settings): Hop {
  const url = parseTarget(payload.url);
  if (typeof url === 'string') throw new PermanentError(`The URL cannot be called: ${url}.`);
  const { body: data } = payload;
  const isText = typeof data === 'string';
  const body = data === undefined ? null : isText ? data : JSON.stringify(data);
  const headers: Record<string, string> = { 'user-agent': 'longshore', accept: '*/*' };
  if (body !== null) headers['content-type'] = isText ? 'text/plain; charset=utf-8' : 'application/json';
  if (ctx.idempotencyKey !== null) headers['idempotency-key'] = headerText(ctx.idempotencyKey);
  const { traceparent } = ctx.context;
  if (traceparent && /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent))
    headers.traceparent = traceparent;
  for (const [name, value] of Object.entries(payload.headers ?? {})) headers[name.toLowerCase()] = value;
  if (secret !== null) headers[signatureHeader] = signatureOf(secret, body ?? '', now());
  return { url, method: payload.method ?? (body === null ? 'GET' : 'POST'), headers, body };
}

/** A key may be any text; one that a header cannot carry is sent as its hash, which is as good a key. */
function headerText(key: string): string {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)
    ? key
    : `sha256-${createHash('sha256').update(key).digest('hex')}`;
}

const mayPass: ReadonlySet<number> = new Set([408, 425, 429]);

function resultOf(hop: Hop, answer: Answer, settings: Settings): UrlResult {
  const { status, bytes } = answer;
  if (status >= 200 && status < 300) {
    if (settings.keepBytes === 0) return { status, bytes };
    return { status, bytes, body: answer.encoded ? null : fitJson(decode(answer.kept), 60_000) };
  }
  const message = `${label(hop)} answered ${status}.`;
  if (status === 429 || status === 503) {
    const delayMs = retryAfterMs(answer.retryAfter, settings.now(), settings.maxRetryAfterMs);
    if (delayMs !== null) throw new RetryAfterError(delayMs, message);
  }
  // The remaining answers below 500 are this call's fault, or (3xx) redirects that lead nowhere.
  throw status >= 500 || mayPass.has(status) ? new Error(message) : new PermanentError(message);
}
