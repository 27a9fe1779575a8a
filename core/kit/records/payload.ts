/** The payload in a body that a store keeps, for people. */

import { maxDepth } from '../../base/json.ts';
import { masked } from '../../base/mask.ts';
import type { Envelope } from '../../envelope/envelope.ts';

/** What a job was given. */
export interface StoredPayload {
  /** With `[masked]` under names that look like secrets; `null` where it is offloaded. */
  readonly value: unknown;
  /** The payload was too large for the queue: its key in the payload store, and its length. */
  readonly offloaded: { readonly key: string; readonly bytes: number } | null;
}

/** `null` = it cannot be read there. The body is not verified: this is to look at, never to run. */
export function payloadOf(body: string | null | undefined): StoredPayload | null {
  let envelope: Partial<Envelope> | null;
  try {
    envelope = JSON.parse(body || 'null') as Partial<Envelope> | null;
  } catch {
    return null;
  }
  if (typeof envelope !== 'object' || envelope === null) return null;
  const { payload = null, claim } = envelope;
  if (typeof claim?.key !== 'string') return { value: masked(payload, maxDepth), offloaded: null };
  return { value: null, offloaded: { key: claim.key, bytes: Number(claim.bytes) } };
}
