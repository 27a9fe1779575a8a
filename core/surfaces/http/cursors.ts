/** Cursors of lists. They are names that may belong to other callers, so they are encrypted for a caller that does not see all. */

import { crypto } from '../../base/crypto.ts';
import type { KeyRing } from '../../envelope/signing.ts';
import type { Caller } from './auth.ts';

export function cursorsOf(ring: KeyRing, { tenantId, jobs }: Caller) {
  if (tenantId === null && jobs === null) return { seal: same, open: same };
  const of = JSON.stringify([tenantId, [...(jobs ?? [])]]);
  return {
    seal: (name: string): string => sealCursor(ring, of, name),
    /** The text may also be the name of one of the caller's own. */
    open: (cursor: string): string => openCursor(ring, of, cursor) ?? cursor,
  };
}

const same = (name: string): string => name;

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** @param of the caller: only the same caller can open the cursor */
function sealCursor(ring: KeyRing, of: string, name: string): string {
  const iv = crypto().randomBytes(ivBytes);
  const cipher = crypto().createCipheriv(algorithm, keyOf(ring, of), iv);
  const sealed = Buffer.concat([cipher.update(name, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** `null` = not a cursor, or sealed with a key that is no longer the signing key. */
function openCursor(ring: KeyRing, of: string, place: string): string | null {
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
