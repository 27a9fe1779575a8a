/** Signs an envelope and fits it into the size limit of the queue. */

import { LongshoreError } from '../../base/errors.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { writeEnvelope } from '../../envelope/write-envelope.ts';
import type { Client } from './client.ts';
import { offload, type Upload } from './offload.ts';

/**
 * Throws `LIMIT` if the message is too large.
 * @param uploads gets a payload that is too large for the queue and must be stored before the message is sent; `null` = it is refused
 */
export function sealed(
  { app, backend: { limits } }: Pick<Client, 'app' | 'backend'>,
  envelope: Envelope,
  uploads: Upload[] | null,
): string {
  const maxBytes = Math.min(app.maxBodyBytes, limits.maxBodyBytes);
  let body = writeEnvelope(envelope, app.keyRing());
  if (isLonger(body, maxBytes) && uploads && !envelope.claim) {
    const { claim, upload } = offload(envelope.identifier, envelope.payload);
    uploads.push(upload);
    body = writeEnvelope({ ...envelope, payload: null, claim }, app.keyRing());
  }
  if (!isLonger(body, maxBytes)) return body;
  throw new LongshoreError(
    'LIMIT',
    `Expected an envelope of at most ${maxBytes} bytes, got ${Buffer.byteLength(body)} for job "${envelope.job}". Store the data elsewhere and send its id.`,
  );
}

/** One UTF-16 unit is at most three bytes, so a short text needs no counting. */
const isLonger = (body: string, maxBytes: number): boolean =>
  body.length * 3 > maxBytes && Buffer.byteLength(body) > maxBytes;
