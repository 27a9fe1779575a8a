/** One request to a target that is checked, and whose addresses are the ones that were checked. */

import { lookup as dnsLookup } from 'node:dns/promises';
import { PermanentError } from '../base/errors.ts';
import { type Answer, exchange, type Hop, label, type ResponseLimits } from './exchange.ts';
import { addressesOf, type Lookup, refuseTarget, type TargetPolicy } from './targets.ts';

export interface VisitSettings extends ResponseLimits {
  readonly policy: TargetPolicy;
  readonly lookup: Lookup;
  /** For DNS, connection and TLS. */
  readonly connectTimeoutMs: number;
}

export const systemLookup: Lookup = (hostname) => dnsLookup(hostname, { all: true });

/** One request, from the check of its target to the end of its answer. */
export async function visit(hop: Hop, settings: VisitSettings, outer: AbortSignal): Promise<Answer> {
  const refused = refuseTarget(hop.url, settings.policy);
  if (refused) throw new PermanentError(`${label(hop)} is refused: ${refused}.`);
  outer.throwIfAborted();
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  const { connectTimeoutMs } = settings;
  const slow = () =>
    stop.abort(new Error(`${label(hop)} failed: no connection within ${connectTimeoutMs} ms.`));
  const timer = setTimeout(slow, connectTimeoutMs);
  try {
    const addresses = await resolve(hop, settings, signal);
    return await exchange(hop, addresses, settings, signal, () => clearTimeout(timer));
  } finally {
    clearTimeout(timer);
  }
}

async function resolve(hop: Hop, { policy, lookup }: VisitSettings, signal: AbortSignal) {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // A lookup cannot be called back; it is left to end by itself.
    const found = await Promise.race([addressesOf(hop.url, policy, lookup), aborted]);
    if (typeof found === 'string') throw new PermanentError(`${label(hop)} is refused: ${found}.`);
    if (found.length === 0) throw new Error(`${label(hop)} failed: the host has no address.`);
    return found;
  } catch (error) {
    if (signal.aborted || !(error instanceof Error) || !('code' in error)) throw error;
    throw new Error(`${label(hop)} failed: ${String(error.code)} when looking up the host.`);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
