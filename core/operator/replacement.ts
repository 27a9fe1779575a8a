/** Dead letters signed anew: what their text says is verified first, so that nobody's words but the app's are signed. */

import { LongshoreError } from '../base/errors.ts';
import { toError } from '../base/failure.ts';
import type { DeadLetter, Replacement } from '../contract/admin.ts';
import type { Client } from '../enqueue/client.ts';
import type { Upload } from '../enqueue/offload.ts';
import { sealed } from '../enqueue/sealed.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { messageFactsOf } from '../envelope/facts.ts';
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

/**
 * Its attempts begin anew. Throws `LIMIT` where it is too large.
 * @param uploads takes a payload that has to be in the payload store before; `null`: it is too large then
 */
export function signedAnew(client: Client, given: Envelope, uploads: Upload[] | null): Replacement {
  const envelope: Envelope = { ...given, attempts: 0 };
  const facts = messageFactsOf(envelope);
  return { body: sealed(client, envelope, uploads), ...(facts && { facts }) };
}

export const isExpired = ({ expiresAt }: Envelope, now: number): boolean =>
  expiresAt != null && expiresAt <= now;

export const expiredText =
  'It has expired, and would expire again at once. Give it a new expiry (expiresInMs, --expires-in).';
