/** Writes and signs an envelope. A process that only runs jobs starts without. */

import { quoted } from '../base/json.ts';
import type { Envelope } from './envelope.ts';
import type { KeyRing } from './signing.ts';

/** The text that travels. Callers have checked the payload with `assertJson`. */
export function writeEnvelope(envelope: Envelope, ring: KeyRing): string {
  const { v, job, payload, queue, priority, maxRetries, attempts, name, identifier } = envelope;
  const { idempotencyKey, schedule, issuedAt, expiresAt, context, claim, chain, results, concurrency } =
    envelope;
  // Member by member: their order is part of the format, the order of the caller's object is not.
  const signed =
    `{"v":${v},"job":${quoted(job)}${payload === undefined ? '' : `,"payload":${JSON.stringify(payload)}`}` +
    `,"queue":${quoted(queue)},"priority":${priority},"maxRetries":${maxRetries},"attempts":${attempts}` +
    `,"name":${textOrNull(name)},"identifier":${JSON.stringify(identifier)}` +
    `,"idempotencyKey":${textOrNull(idempotencyKey)},"schedule":${schedule},"issuedAt":${issuedAt}` +
    `,"expiresAt":${expiresAt},"context":${context === null ? 'null' : JSON.stringify(context)}` +
    `${claim ? `,"claim":${JSON.stringify(claim)}` : ''}${chain ? `,"chain":${JSON.stringify(chain)}` : ''}` +
    `${results ? ',"results":true' : ''}${concurrency ? `,"concurrency":${concurrency}` : ''},"kid":${quoted(ring.kid)}`;
  return `${signed},"_sig":"${ring.sign(signed)}"}`;
}

const textOrNull = (text: string | null): string => (text === null ? 'null' : JSON.stringify(text));
