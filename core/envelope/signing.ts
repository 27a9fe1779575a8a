/** The key ring: several keys verify, one signs. HMAC-SHA256 over raw text, compared in constant time. */

import { crypto } from '../base/crypto.ts';
import { config, LongshoreError, shown } from '../base/errors.ts';
import { hmacSha256 } from './hmac.ts';

export interface SigningKey {
  /** Travels in the envelope. 1 to 64 of `A-Z a-z 0-9 . _ -`. */
  readonly kid: string;
  /** At least 32 bytes; make one with `openssl rand -base64 32`. */
  readonly secret: Uint8Array;
}

export interface KeyRing {
  /** The key that signs new envelopes. */
  readonly kid: string;
  /** All keys that verify, the signing one first. */
  readonly kids: readonly string[];
  /** Unsigned envelopes are accepted before this moment (epoch ms), for a roll-out. `null` = never. */
  readonly acceptUnsignedUntil: number | null;
  /** Lower-case hex of the MAC over the text as UTF-8. */
  sign(text: string): string;
  /** Throws `UNKNOWN_KEY` or `SIGNATURE`. */
  verify(kid: string, text: string, signature: string): void;
}

export const kidPattern = /^[A-Za-z0-9._-]{1,64}$/;

/** The first key signs, all of them verify. To rotate: add the new key last, deploy everywhere, then move it first. */
export function keyRing(keys: readonly SigningKey[], options: { acceptUnsignedUntil?: Date } = {}): KeyRing {
  const byKid = new Map<string, (text: string) => string>();
  for (const { kid, secret } of keys) {
    if (!kidPattern.test(kid)) throw config(`A key id must match ${kidPattern}, got ${shown(kid)}.`);
    if (byKid.has(kid))
      throw config(`The key id ${shown(kid)} is on the ring twice. Give every key its own id.`);
    if (secret.byteLength < 32) {
      throw config(`The key ${shown(kid)} has ${secret.byteLength} bytes, expected at least 32. ${makeOne}`);
    }
    byKid.set(kid, hmacSha256(secret));
  }
  const first = keys[0];
  if (!first) throw config(`A key ring needs at least one key. ${makeOne}`);
  const signer = byKid.get(first.kid)!;
  return {
    kid: first.kid,
    kids: [...byKid.keys()],
    acceptUnsignedUntil: options.acceptUnsignedUntil?.getTime() ?? null,
    sign: signer,
    verify(kid, text, signature) {
      const key = byKid.get(kid);
      if (!key) {
        const remedy = kid.startsWith('dev-')
          ? 'It is of another folder: give both the same LONGSHORE_SIGNING_KEYS.'
          : 'Add the key, or requeue after the roll-out.';
        throw new LongshoreError(
          'UNKNOWN_KEY',
          `The envelope is signed with key ${shown(kid)}, which is not on this ring. ${remedy}`,
        );
      }
      if (!sameHex(signature, key(text))) {
        throw new LongshoreError(
          'SIGNATURE',
          'The signature does not match: the envelope was changed or forged.',
        );
      }
    },
  };
}

const hexDigits = 64;
/** Made once: two buffers per message would cost more than the comparison. */
const sides = [Buffer.alloc(hexDigits * 2), Buffer.alloc(hexDigits * 2)] as const;

/** In constant time for texts of the right length; the length is no secret. UTF-16, because latin1 drops high bytes. */
function sameHex(actual: string, expected: string): boolean {
  if (actual.length !== hexDigits || expected.length !== hexDigits) return false;
  sides[0].write(actual, 'utf16le');
  sides[1].write(expected, 'utf16le');
  return crypto().timingSafeEqual(...sides);
}

const makeOne = 'Make one with `openssl rand -base64 32`.';

const base64Pattern = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Reads `kid:base64,kid:base64` (the form of LONGSHORE_SIGNING_KEYS). No piece of the text ever appears in an error,
 * not even a kid: in `base64:kid`, the two turned round, the kid is the secret.
 */
export function parseSigningKeys(text: string): SigningKey[] {
  return text.split(',').map((part, i) => {
    const at = part.indexOf(':');
    const kid = part.slice(0, Math.max(at, 0)).trim();
    const base64 = part.slice(at + 1).trim();
    if (!kidPattern.test(kid) || !base64Pattern.test(base64)) {
      throw config(`Key ${i + 1} of LONGSHORE_SIGNING_KEYS is not of the form kid:base64. ${makeOne}`);
    }
    const secret = Buffer.from(base64, 'base64');
    if (secret.length < 32) {
      throw config(
        `Key ${i + 1} of LONGSHORE_SIGNING_KEYS has ${secret.length} bytes, expected at least 32. ${makeOne}`,
      );
    }
    return { kid, secret };
  });
}
