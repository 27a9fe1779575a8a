/** Signs session cookies and change tokens. */

import type { Clock } from '../../../base/clock.ts';
import { crypto } from '../../../base/crypto.ts';
import { hmacSha256 } from '../../../envelope/hmac.ts';
import type { KeyRing } from '../../../envelope/signing.ts';

export interface Signer {
  sign(text: string): string;
  verifies(text: string, signature: string): boolean;
}

export function signerOf(secret: Uint8Array): Signer {
  const mac = hmacSha256(secret);
  return { sign: mac, verifies: (text, signature) => isSame(mac(text), signature) };
}

/**
 * Every isolate with the same keys can verify, also during a key rotation. The keys are read at the first signature, because a build
 * loads the module of the dashboard without having keys.
 */
export const signerOfKeyRing = (ringOf: () => KeyRing): Signer => ({
  sign(text) {
    const ring = ringOf();
    return `${ring.kid}:${ring.sign(text)}`;
  },
  verifies(text, signature) {
    const ring = ringOf();
    const [kid = '', mac = ''] = signature.split(':');
    try {
      ring.verify(kid, text, mac);
      return true;
    } catch {
      return false;
    }
  },
});

/** Compares in constant time. Digests have the same length for any input. */
export function isSame(one: string, other: string): boolean {
  const { hash, timingSafeEqual } = crypto();
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

export interface Passes {
  /** Returns a token that is valid for `subject` until it expires. */
  issue(subject: string): string;
  /** Whether the token was issued for `subject` and has not expired. */
  accepts(subject: string, pass: string): boolean;
}

/** @param purpose is part of the signed text, so a token cannot be used for another purpose or as a job's signature */
export function passesOf(signer: Signer, clock: Clock, purpose: string, goodForMs: number): Passes {
  const textOf = (subject: string, end: string): string => `longshore ${purpose}\n${end}\n${subject}`;
  return {
    issue(subject) {
      const end = String(clock.now() + goodForMs);
      return `${end}.${signer.sign(textOf(subject, end))}`;
    },
    accepts(subject, pass) {
      const [, end = '', signature = ''] = /^(\d{1,16})\.(.+)$/.exec(pass) ?? [];
      return signer.verifies(textOf(subject, end), signature) && Number(end) > clock.now();
    },
  };
}
