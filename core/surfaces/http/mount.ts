/** What handlers of requests have in common, wherever they are mounted; where a request comes from, and what it is called in logs. */

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

/** What `authorize` of a user answers. A failure of it is no answer: it lets nobody in. */
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

/** A failure that its caller is told little of, for the log of those who run the app. */
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

/** What stands in a path for a name. */
export function decoded(parameter: string): string {
  try {
    return decodeURIComponent(parameter);
  } catch (cause) {
    const detail =
      'Expected a path with valid percent-encoding, got another. Encode the name with encodeURIComponent.';
    throw new Refusal(400, 'REQUEST', detail, { cause });
  }
}

/** A browser says whether another site caused the request; programs say nothing. */
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

/** Development only: a page whose name was re-pointed to 127.0.0.1 (DNS rebinding) still sends its own name. */
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

/** The caller's own id when it can safely be logged and echoed, else a new one. */
export function requestIdOf(request: Request, newId: () => string): string {
  const given = request.headers.get('x-request-id');
  return given !== null && sane.test(given) ? given : newId();
}

/** What does not fit is ignored, it fails no request. */
export function traceparentOf(request: Request): string | null {
  const text = request.headers.get('traceparent');
  return text !== null && readTraceparent(text) ? text : null;
}

/** For a browser that is led here all the same: nothing is sniffed, kept, framed or run. */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
