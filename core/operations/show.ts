/** One dead letter with all that is known of it. */

import { toError } from '../base/failure.ts';
import { maxDepth } from '../base/json.ts';
import { masked } from '../base/mask.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { loadPayload } from '../kernel/enqueue/offload.ts';
import { nowOf } from '../kernel/enqueue/skew.ts';
import { summaryOf } from '../kit/records/dead-letter-pages.ts';
import type { StoredPayload } from '../kit/records/payload.ts';
import { editableOf, findDeadLetter, isExpired } from './edit.ts';
import { envelopeIn, itemOf } from './select.ts';
import type { DeadLetterDetail } from './types.ts';

export async function show(asked: Client, id: string): Promise<DeadLetterDetail | null> {
  const on = await findDeadLetter(asked, id);
  if (!on) return null;
  const { client, letter: found } = on;
  const { app, stores } = client;
  const { body, reason } = found;
  const envelope = envelopeIn(app, body);
  const record = await stores.records.get(id);
  const tenantId = envelope?.context?.tenantId ?? null;
  return {
    letter: itemOf(summaryOf(found, tenantId)),
    envelope: envelope && factsOf(envelope, body),
    payload: envelope && (await payloadIn(client, envelope)),
    attempts: record?.attempts ?? [],
    editable: editable(() => editableOf(client, found)),
    expired: reason === 'expired' || (envelope !== null && isExpired(envelope, await nowOf(client))),
  };
}

function factsOf(envelope: Envelope, body: string): DeadLetterDetail['envelope'] {
  const { priority, maxRetries, idempotencyKey, issuedAt, expiresAt, context } = envelope;
  const kid = (JSON.parse(body) as { kid?: unknown }).kid;
  return {
    priority,
    maxRetries,
    idempotencyKey: idempotencyKey ?? null,
    issuedAt,
    expiresAt: expiresAt ?? null,
    context: context ?? null,
    kid: typeof kid === 'string' ? kid : null,
  };
}

async function payloadIn({ stores }: Client, envelope: Envelope): Promise<StoredPayload> {
  const { claim, payload = null } = envelope;
  if (!claim) return { value: masked(payload, maxDepth), offloaded: null };
  const offloaded = { key: claim.key, bytes: claim.bytes };
  // One that is gone must not hide the rest.
  const loaded = await loadPayload(stores, envelope).catch(() => null);
  return { value: typeof loaded === 'symbol' ? null : masked(loaded, maxDepth), offloaded };
}

function editable(check: () => unknown): true | string {
  try {
    check();
    return true;
  } catch (error) {
    return toError(error).message;
  }
}
