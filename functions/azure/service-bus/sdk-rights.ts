/**
 * Each link of the SDK first proves its right to the queue, one link after the other: with many sessions that takes longer than all
 * the rest. The right belongs to the connection, so links that open at the same time share a proof. The SDK has no option for it.
 */

import type { ServiceBusClient } from '@azure/service-bus';

/** Private state of the SDK. It makes another session for claims with every connection. */
interface Claims {
  negotiateClaim?(audience: string, ...rest: unknown[]): Promise<unknown>;
}

/** Far below what a token lasts. The SDK renews it for each link. */
const sharedMs = 30_000;
const shared = new WeakSet<Claims>();

/** Called before a link is opened. */
export function shareRights(client: ServiceBusClient): void {
  const claims = (client as unknown as { _connectionContext?: { cbsSession?: Claims } })._connectionContext
    ?.cbsSession;
  const negotiate = claims?.negotiateClaim?.bind(claims);
  if (!claims || !negotiate || shared.has(claims)) return;
  shared.add(claims);
  const last = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>();
  claims.negotiateClaim = (audience, ...rest) => {
    const known = last.get(audience);
    if (known && performance.now() - known.at < sharedMs) return known.answer;
    const answer = negotiate(audience, ...rest);
    last.set(audience, { at: performance.now(), answer });
    answer.catch(() => last.delete(audience));
    return answer;
  };
}
