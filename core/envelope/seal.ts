/** Texts that a store keeps and that Longshore acts on later. They are signed as envelopes are, and bound to what they are kept under. */

import { withoutSeparators } from '../base/json.ts';
import { verifyText } from './envelope.ts';
import type { KeyRing } from './signing.ts';

/** @param text an object as JSON */
export function seal(ring: KeyRing, subject: string, text: string): string {
  // Here, and not in a store: nothing may change behind the signature.
  const signed = `${withoutSeparators(text).slice(0, -1)},"kid":"${ring.kid}"`;
  return `${signed},"_sig":"${ring.sign(subject + signed)}"}`;
}

/** Verifies before anything is parsed. Throws `SIGNATURE` or `UNKNOWN_KEY`. Takes unsigned texts while the ring takes unsigned envelopes. */
export function unseal(ring: KeyRing, subject: string, sealed: string, now: number): string {
  const kid = verifyText(sealed, ring, now, subject);
  return kid === null ? sealed : `${sealed.slice(0, sealed.lastIndexOf(`,"kid":"${kid}","_sig":"`))}}`;
}
