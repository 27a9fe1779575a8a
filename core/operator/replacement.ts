/** Dead letters signed anew: what their text says is verified first, so that nobody's words but the app's are signed. */

import { LongshoreError } from '../base/errors.ts';
import { toError } from '../base/failure.ts';
import type { DeadLetter, Replacement } from '../contract/admin.ts';
import type { Client } from '../enqueue/client.ts';
import { offload, type Upload } from '../enqueue/offload.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { messageFactsOf } from '../envelope/facts.ts';
import { writeEnvelope } from '../envelope/write-envelope.ts';
import { verified } from './select.ts';

/** Throws what keeps it from being signed anew here, with the remedy. */
export function signedEnvelope({ app }: Client, { id, queue, body }: DeadLetter): Envelope {
  if (!body.includes('"_sig"'))
    throw new LongshoreError(
      'SIGNATURE',
      'It carries no signature: another program sent it, or it was changed. Only its sender can mend it; retry it as it is, or discard it.',
    );
  let envelope: Envelope;
  try {
    envelope = verified(app, body);
  } catch (error) {
    const { message } = toError(error);
    const code = error instanceof LongshoreError ? error.code : 'CONFIG';
    throw new LongshoreError(
      code,
      `It does not verify here, so it cannot be signed anew: ${message} Do it where its signing key is, or discard it.`,
      { cause: error },
    );
  }
  if (envelope.queue !== queue)
    throw new LongshoreError(
      'WRONG_QUEUE',
      `It is signed for queue "${envelope.queue}" but came from "${queue}": it was copied. Discard it.`,
    );
  if (envelope.identifier !== id)
    throw new LongshoreError(
      'ENVELOPE',
      `It is signed as job ${envelope.identifier} but is kept as ${id}: it was copied. Discard it.`,
    );
  return envelope;
}

export interface SignedAnew {
  readonly replacement: Replacement;
  /** What has to be in the payload store before. */
  readonly upload: Upload | null;
}

/** Its attempts begin anew. Throws `LIMIT` where it is too large. */
export function signedAnew({ app, backend, stores }: Client, given: Envelope): SignedAnew {
  const envelope: Envelope = { ...given, attempts: 0 };
  const facts = messageFactsOf(envelope);
  const maxBytes = Math.min(app.maxBodyBytes, backend.limits.maxBodyBytes);
  let body = writeEnvelope(envelope, app.keyRing());
  let upload: Upload | null = null;
  if (Buffer.byteLength(body) > maxBytes && stores.payloads && !envelope.claim) {
    const parts = offload(envelope.identifier, envelope.payload);
    upload = parts.upload;
    body = writeEnvelope({ ...envelope, payload: null, claim: parts.claim }, app.keyRing());
  }
  const bytes = Buffer.byteLength(body);
  if (bytes > maxBytes)
    throw new LongshoreError(
      'LIMIT',
      `Expected an envelope of at most ${maxBytes} bytes, got ${bytes}. Store the data elsewhere and send its id.`,
    );
  return { replacement: { body, ...(facts && { facts }) }, upload };
}

export const isExpired = ({ expiresAt }: Envelope, now: number): boolean =>
  expiresAt != null && expiresAt <= now;

export const expiredText =
  'It has expired, and would expire again at once. Give it a new expiry (expiresInMs, --expires-in).';
