/** Signs messages again under the same ids. Each text is verified first, so that only the app's own messages are signed. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import type { Replacement } from '../../contract/admin.ts';
import { type Envelope, readEnvelope } from '../../envelope/envelope.ts';
import { messageFactsOf } from '../../envelope/facts.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import { validate } from '../app/schema.ts';
import type { Client } from './client.ts';
import type { Upload } from './offload.ts';
import { keyOf } from './prepare.ts';
import { sealed } from './seal.ts';

/** Throws as `readEnvelope`. Note that the key ring may accept unsigned messages for a while. */
export const verified = (app: App, body: string): Envelope =>
  readEnvelope(body, { ring: app.keyRing(), now: Infinity, maxBytes: app.maxBodyBytes });

/**
 * Verifies a stored message. Throws the reason why it cannot be signed again here, with the remedy.
 * @param stored the message; its signature must be for this id and queue
 */
export function signedEnvelope(
  { app }: Pick<Client, 'app'>,
  { id, queue, body }: { readonly id: string; readonly queue: string; readonly body: string },
  remove: 'discard' | 'remove' = 'discard',
): Envelope {
  if (!body.includes('"_sig"'))
    throw new LongshoreError(
      'SIGNATURE',
      `It carries no signature: another program sent it, or it was changed. Only its sender can change it; let it run as it is, or ${remove} it.`,
    );
  let envelope: Envelope;
  try {
    envelope = verified(app, body);
  } catch (error) {
    const { message } = toError(error);
    const code = error instanceof LongshoreError ? error.code : 'CONFIG';
    throw new LongshoreError(
      code,
      `It does not verify here, so it cannot be signed again: ${message} Do it where its signing key is, or ${remove} it.`,
      { cause: error },
    );
  }
  const copied = (code: 'WRONG_QUEUE' | 'ENVELOPE', what: string) =>
    new LongshoreError(
      code,
      `It is signed ${what}: it was copied. ${remove === 'discard' ? 'Discard' : 'Remove'} it.`,
    );
  if (envelope.queue !== queue)
    throw copied('WRONG_QUEUE', `for queue "${envelope.queue}" but came from "${queue}"`);
  if (envelope.identifier !== id)
    throw copied('ENVELOPE', `as job ${envelope.identifier} but is kept as ${id}`);
  return envelope;
}

/**
 * Throws `LIMIT` if the message is too large.
 * @param uploads gets a payload that must be stored before the message is sent; `null` = there is no payload store
 */
export function resealed(
  client: Pick<Client, 'app' | 'backend'>,
  envelope: Envelope,
  uploads: Upload[] | null,
): Replacement {
  const facts = messageFactsOf(envelope);
  return { body: sealed(client, envelope, uploads), ...(facts && { facts }) };
}

/** The key after a change of the payload: a key that the job derived from the payload is derived again, any other stays. */
export async function keyAfter(
  job: Job,
  { idempotencyKey }: Envelope,
  old: unknown,
  valid: unknown,
): Promise<string | null> {
  if (!job.keyOf) return idempotencyKey;
  let before: string | null;
  try {
    before = keyOf(job, await validate(job.schema, old, job.name), {});
  } catch {
    return idempotencyKey; // the old payload no longer fits the schema
  }
  return before === (idempotencyKey ?? null) ? keyOf(job, valid, {}) : idempotencyKey;
}
