/**
 * Requests to a URL that the app's own code names: over https, to public addresses. The URL may be a secret (URLs of Slack and of heartbeats
 * are), so messages show only its host.
 */

import { config, LongshoreError, shown } from '../../base/errors.ts';
import type { Hop } from '../../jobs/exchange.ts';
import { type Lookup, parseTarget, portOf, refuseTarget, targetPolicy } from '../../jobs/targets.ts';

export interface RequestOptions {
  /**
   * Services in your own network as `host:port`: they may have a loopback or private address and may be called over http. Metadata and
   * link-local addresses stay refused.
   */
  readonly allowPrivate?: readonly string[];
  /** For tests: a replacement for DNS. @default `dns.promises.lookup` with `all` */
  readonly testing?: { readonly lookup?: Lookup };
}

export type Endpoint = ReturnType<typeof endpointOf>;

/** How much of a response is read. None of it is kept. */
const limits = { maxResponseBytes: 65_536, maxHeaderBytes: 16_384, keepBytes: 0, connectTimeoutMs: 5_000 };

/** @param factory name of the calling function, for messages. Throws `CONFIG` for a URL that would be refused later. */
export function endpointOf(factory: string, text: unknown, options: RequestOptions = {}) {
  if (typeof text !== 'string' || text === '')
    throw config(
      `${factory}() expects a URL, got ${typeof text === 'string' ? 'an empty string' : shown(text)}.`,
    );
  const policy = targetPolicy(undefined, options.allowPrivate, factory);
  const url = parseTarget(text);
  if (typeof url === 'string') throw config(`${factory}() cannot call its URL: ${url}.`);
  const isOpen = policy.open.has(`${url.hostname}:${portOf(url)}`);
  if (url.protocol === 'http:' && !isOpen)
    throw config(
      `${factory}() expects an https URL, got http. Name its host and port in allowPrivate if it is in your own network.`,
    );
  const refused = refuseTarget(url, policy);
  if (refused) throw config(`${factory}() cannot call its URL: ${refused}.`);
  return { url, policy, lookup: options.testing?.lookup };
}

/** Resolves when the receiver answers with 2xx. Redirects are not followed. */
export async function request(
  { url, policy, lookup }: Endpoint,
  hop: Omit<Hop, 'url'> & { readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  // Loaded with the first request, so that a function starts without node:https.
  const { visit, systemLookup } = await import('../../jobs/visit.ts');
  const headers = { 'user-agent': 'longshore', accept: '*/*', ...hop.headers };
  const settings = { ...limits, policy, lookup: lookup ?? systemLookup };
  const { status } = await visit({ ...hop, url, headers }, settings, signal);
  if (status < 200 || status > 299) throw new LongshoreError('BACKEND', `${hop.name} answered ${status}.`);
}
