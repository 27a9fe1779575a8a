/** Reads the payload from a stored body, for display. */

import { maxDepth } from '../../base/json.ts';
import { masked } from '../../base/mask.ts';
import type { Envelope } from '../../envelope/envelope.ts';

/** The payload of a job. */
export interface StoredPayload {
  /** Values of names that look like secrets are `[masked]`; `null` if the payload is offloaded. */
  readonly value: unknown;
  /** For a payload that was too large for the queue: its key in the payload store, and its length. */
  readonly offloaded: { readonly key: string; readonly bytes: number } | null;
}

/** `null` = the body has no readable payload. The signature is not verified: only display the result, never run it. */
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
