/** Shared by the request handlers: base path, authorization, origin checks, request ids and error reports. */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { readTraceparent } from '../../base/traceparent.ts';
import type { App } from '../../kernel/app/app.ts';
import { Refusal } from './problem.ts';

/** Throws `CONFIG`. */
export function checkBasePath(basePath: string, example: string): void {
  if (/^(\/[\w.-]+)*$/.test(basePath)) return;
  throw config(
    `Expected basePath to be empty or like "${example}", without a slash at its end, got ${shown(basePath)}.`,
  );
}

/** Calls the user's `authorize`. If it throws, the request gets a 503. */
export async function authorized<Answer>(
  authorize: (request: Request) => Answer | Promise<Answer>,
  request: Request,
  detail: string,
): Promise<Answer> {
  try {
    return await authorize(request);
  } catch (cause) {
    throw new Refusal(503, 'INTERNAL', detail, { headers: { 'retry-after': '5' }, cause });
  }
}

/** Emits the cause of a failure as an event, because the answer does not show it. */
export function report(
  { events }: App,
  { status, cause, code, message }: Refusal,
  method: string,
  requestId: string,
): void {
  if (!events.active) return;
  const error =
    cause instanceof LongshoreError
      ? cause
      : new LongshoreError(code, cause === undefined ? message : toError(cause).message, { cause });
  events.emit({ type: 'http.failed', method, status, requestId, error });
}

/** Decodes a name in a path. */
export function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch (cause) {
    const detail =
      'Expected a path with valid percent-encoding, got another. Encode the name with encodeURIComponent.';
    throw new Refusal(400, 'REQUEST', detail, { cause });
  }
}

/** Accepted values of `sec-fetch-site`. Browsers send it; other programs do not. */
const ownSites = [null, 'same-origin', 'none'];

export function refuseOtherSites(request: Request): void {
  const site = request.headers.get('sec-fetch-site');
  if (ownSites.includes(site)) return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    'Expected a program or a page of this site, got a request that another web site has caused. Call this endpoint from your server, not from the browser.',
  );
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/** Protects from DNS rebinding in development: a page whose name now points to 127.0.0.1 still sends that name as host. */
export function refuseOtherHosts(request: Request, url: URL): void {
  const hosts = [url.host, request.headers.get('host') ?? url.host];
  if (hosts.every((host) => loopback.test(host))) return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    'Expected the host localhost, 127.0.0.1 or [::1] in development, got another. To serve other hosts set apiKeys or authorize instead of development.',
  );
}

const sane = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The caller's `x-request-id` if it is safe to log and echo, otherwise a new id. */
export function requestIdOf(request: Request, newId: () => string): string {
  const given = request.headers.get('x-request-id');
  return given !== null && sane.test(given) ? given : newId();
}

/** An invalid `traceparent` is ignored. */
export function traceparentOf(request: Request): string | null {
  const text = request.headers.get('traceparent');
  return text !== null && readTraceparent(text) ? text : null;
}

/** Headers for browsers: no sniffing, caching, framing or scripts. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
