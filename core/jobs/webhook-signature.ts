/**
 * The signature header of calls: `longshore-signature: t=<epoch seconds>,v1=<hex>`, where `v1` is the HMAC-SHA256 of
 * `<t>.<body>` over the body's raw bytes. The time is inside, so that a recorded call cannot be played back for ever.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { config } from '../base/errors.ts';

export const signatureHeader = 'longshore-signature';

export type WebhookSecret = string | Uint8Array;

const leastSecretBytes = 32;
const longestHeader = 2048;

export function checkSecret(what: string, secret: unknown): asserts secret is WebhookSecret {
  const isSecret = typeof secret === 'string' || isUint8Array(secret);
  // Neither the secret nor its length is shown.
  if (!isSecret || Buffer.byteLength(secret) < leastSecretBytes) {
    throw config(
      `${what} expects a secret of at least ${leastSecretBytes} bytes, a string or a Uint8Array. Make one with \`openssl rand -base64 32\`.`,
    );
  }
}

export function signatureOf(secret: WebhookSecret, body: string | Uint8Array, now: number): string {
  const seconds = Math.floor(now / 1000);
  return `t=${seconds},v1=${mac(secret, seconds, body).toString('hex')}`;
}

export interface VerifyWebhook {
  /** One, or several while a secret is being replaced: any of them may have signed. */
  readonly secret: WebhookSecret | readonly WebhookSecret[];
  /** The value of the `longshore-signature` header; a missing one is simply not valid. */
  readonly header: string | null | undefined;
  /** The body as it came over the wire. JSON that was parsed and written again is another text. */
  readonly body: string | Uint8Array;
  /** Epoch ms. @default Date.now() */
  readonly now?: number;
  /** How far the signature's time may be from `now`, in either direction. @default 300_000 */
  readonly toleranceMs?: number;
}

/**
 * For the receiver of a call: whether it was signed with one of the secrets, lately. Compares in constant time; every
 * malformed header is `false`. Throws `CONFIG` for a secret or tolerance that is wrong in itself.
 */
export function verifyWebhook(call: VerifyWebhook): boolean {
  const { header, body, now = Date.now(), toleranceMs = 300_000 } = call;
  const secrets = (Array.isArray(call.secret) ? call.secret : [call.secret]) as WebhookSecret[];
  if (secrets.length === 0) throw config('verifyWebhook() expects at least one secret, got an empty list.');
  for (const secret of secrets) checkSecret('verifyWebhook()', secret);
  if (!(Number.isFinite(toleranceMs) && toleranceMs >= 0))
    throw config(`verifyWebhook() expects toleranceMs to be 0 or more, got ${toleranceMs}.`);
  if (typeof header !== 'string' || header.length > longestHeader) return false;
  const [, time, list = ''] = /^t=(\d{1,12})((?:,v1=[0-9a-f]{64})+)$/.exec(header) ?? [];
  if (time === undefined) return false;
  const seconds = Number(time);
  const signatures = list.slice(4).split(',v1=');
  let valid = false;
  // No early end: how long this takes must not tell which of the secrets or signatures came close.
  for (const secret of secrets) {
    const expected = mac(secret, seconds, body);
    for (const signature of signatures) {
      if (timingSafeEqual(expected, Buffer.from(signature, 'hex'))) valid = true;
    }
  }
  return valid && Math.abs(now - seconds * 1000) <= toleranceMs;
}

function mac(secret: WebhookSecret, seconds: number, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest();
}
