/** Places in a list that has rows of others, too: a caller goes on from there, and does not read whose row is there. */

import { crypto } from '../../base/crypto.ts';
import type { KeyRing } from '../../envelope/signing.ts';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** @param of whom it is for: for another it opens nothing */
export function sealCursor(ring: KeyRing, of: string, name: string): string {
  const iv = crypto().randomBytes(ivBytes);
  const cipher = crypto().createCipheriv(algorithm, keyOf(ring, of), iv);
  const sealed = Buffer.concat([cipher.update(name, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** `null` = it is none, or was made by a key that does not sign any more. */
export function openCursor(ring: KeyRing, of: string, place: string): string | null {
  const bytes = Buffer.from(place, 'base64url');
  try {
    const decipher = crypto().createDecipheriv(algorithm, keyOf(ring, of), bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const opened = decipher.update(bytes.subarray(ivBytes + tagBytes));
    return Buffer.concat([opened, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

const keyOf = (ring: KeyRing, of: string): Buffer =>
  Buffer.from(ring.sign(`longshore place in a list for ${JSON.stringify(of)}`), 'hex');
