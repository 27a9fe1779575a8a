/** Texts that nobody else can write: sessions in cookies, and the tokens of changes. */

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
 * Any isolate with the same keys verifies, also while they are rotated. The keys are asked for with the first text: a build loads the module
 * that makes a dashboard, without them.
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

/** In constant time: digests have one length, whatever was given. */
export function isSame(one: string, other: string): boolean {
  const { hash, timingSafeEqual } = crypto();
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}

export interface Passes {
  /** Good for `subject` until its end. */
  issue(subject: string): string;
  /** Whether it was issued for `subject` and has not ended. */
  accepts(subject: string, pass: string): boolean;
}

/** @param purpose keeps a pass of one kind from being taken for one of another, and for the signature of a job */
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
