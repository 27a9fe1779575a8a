/** The key ring: several keys verify, one signs. HMAC-SHA256 over raw text, compared in constant time. */

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { config, LongshoreError, shown } from './errors.ts';

export interface SigningKey {
  /** Travels in the envelope. 1 to 64 of `A-Z a-z 0-9 . _ -`. */
  readonly kid: string;
  /** At least 32 bytes; make one with `openssl rand -base64 32`. */
  readonly secret: Uint8Array;
}

export interface KeyRing {
  /** The key that signs new envelopes. */
  readonly kid: string;
  /** Unsigned envelopes are accepted before this moment (epoch ms), for a roll-out. `null` = never. */
  readonly acceptUnsignedUntil: number | null;
  /** Lower-case hex of the MAC over the text as UTF-8. */
  sign(text: string): string;
  /** Throws `UNKNOWN_KEY` or `SIGNATURE`. */
  verify(kid: string, text: string, signature: string): void;
}

const kidPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** The first key signs, all of them verify. To rotate: add the new key last, deploy everywhere, then move it first. */
export function keyRing(keys: readonly SigningKey[], options: { acceptUnsignedUntil?: Date } = {}): KeyRing {
  const byKid = new Map<string, KeyObject>();
  for (const { kid, secret } of keys) {
    if (!kidPattern.test(kid)) throw config(`A key id must match ${kidPattern}, got ${shown(kid)}.`);
    if (byKid.has(kid))
      throw config(`The key id ${shown(kid)} is on the ring twice. Give every key its own id.`);
    if (secret.byteLength < 32) {
      throw config(`The key ${shown(kid)} has ${secret.byteLength} bytes, expected at least 32. ${makeOne}`);
    }
    byKid.set(kid, createSecretKey(secret)); // a KeyObject signs six times faster than raw bytes
  }
  const first = keys[0];
  if (!first) throw config(`A key ring needs at least one key. ${makeOne}`);
  const signer = byKid.get(first.kid)!;
  return {
    kid: first.kid,
    acceptUnsignedUntil: options.acceptUnsignedUntil?.getTime() ?? null,
    sign: (text) => createHmac('sha256', signer).update(text).digest('hex'),
    verify(kid, text, signature) {
      const key = byKid.get(kid);
      if (!key) {
        throw new LongshoreError(
          'UNKNOWN_KEY',
          `The envelope is signed with key ${shown(kid)}, which is not on this ring. Add the key, or requeue after the roll-out.`,
        );
      }
      const expected = createHmac('sha256', key).update(text).digest();
      const actual = Buffer.from(signature, 'hex');
      if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) {
        throw new LongshoreError(
          'SIGNATURE',
          'The signature does not match: the envelope was changed or forged.',
        );
      }
    },
  };
}

const makeOne = 'Make one with `openssl rand -base64 32`.';

/** Reads `kid:base64,kid:base64` (the form of LONGSHORE_SIGNING_KEYS). The text itself never appears in an error. */
export function parseSigningKeys(text: string): SigningKey[] {
  return text.split(',').map((part, i) => {
    const at = part.indexOf(':');
    const secret = Buffer.from(part.slice(at + 1).trim(), 'base64');
    if (at < 1 || secret.length === 0) {
      throw config(`Key ${i + 1} of LONGSHORE_SIGNING_KEYS is not of the form kid:base64. ${makeOne}`);
    }
    return { kid: part.slice(0, at).trim(), secret };
  });
}
