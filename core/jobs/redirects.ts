/** How a redirect changes the next request. */

import { PermanentError } from '../base/errors.ts';
import { type Answer, type Hop, label } from './exchange.ts';
import { parseTarget } from './targets.ts';
import { signatureHeader } from './webhook-signature.ts';

const followed: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * All that another origin gets to see. Naming the secret headers would miss `x-api-key` and whatever comes next, so
 * the harmless ones are named.
 */
const forStrangers: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'idempotency-key',
  'traceparent',
  'user-agent',
]);

export const isRedirect = (status: number): boolean => followed.has(status);

/** The next hop; its target is not checked yet. Throws for a Location that no retry can heal. */
export function nextHop(hop: Hop, { status, location }: Pick<Answer, 'status' | 'location'>): Hop {
  if (location === undefined)
    throw new PermanentError(`${label(hop)} answered ${status} without a Location.`);
  const url = parseTarget(location, hop.url);
  if (typeof url === 'string')
    throw new PermanentError(`${label(hop)} answered ${status} with a wrong Location: ${url}.`);
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') {
    throw new PermanentError(`${label(hop)} answered ${status} from https to http, which is not followed.`);
  }
  // As browsers do: 303 asks for a GET, and 301 and 302 have been answered to POST with one for too long.
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') ||
    ((status === 301 || status === 302) && hop.method === 'POST');
  const isStranger = url.origin !== hop.url.origin;
  const headers = Object.entries(hop.headers).filter(
    ([name]) =>
      (!isStranger || forStrangers.has(name)) &&
      !(becomesGet && (name.startsWith('content-') || name === signatureHeader)),
  );
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers: Object.fromEntries(headers),
    body: becomesGet ? null : hop.body,
  };
}
