/** Where a request comes from, and what it is called in logs and traces. */

import { readTraceparent } from '../../base/traceparent.ts';
import { Refusal } from './problem.ts';

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
