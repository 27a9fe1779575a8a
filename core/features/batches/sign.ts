/**
 * Signs texts in a store from which jobs are made, as every envelope is signed: writing to the store must not be enough to make a worker sign
 * jobs.
 */

import { LongshoreError } from '../../base/errors.ts';
import type { App } from '../../kernel/app/app.ts';

interface Signed {
  readonly text: string;
  readonly kid: string;
  readonly sig: string;
}

const signedText = (subject: string, text: string): string => `longshore ${subject} ${text}`;

/** @param subject the owner of the text: a text that is moved elsewhere does not verify */
export function signed(app: App, subject: string, text: string): string {
  const ring = app.keyRing();
  return JSON.stringify({ text, kid: ring.kid, sig: ring.sign(signedText(subject, text)) } satisfies Signed);
}

/** Throws `UNKNOWN_KEY` or `SIGNATURE`. */
export function verified(app: App, subject: string, stored: string): string {
  const { text, kid, sig } = partsOf(stored);
  app.keyRing().verify(kid, signedText(subject, text), sig);
  return text;
}

function partsOf(stored: string): Signed {
  try {
    const { text, kid, sig } = JSON.parse(stored) as Record<keyof Signed, unknown>;
    if (typeof text === 'string' && typeof kid === 'string' && typeof sig === 'string')
      return { text, kid, sig };
  } catch {} // no JSON, or null
  throw new LongshoreError(
    'SIGNATURE',
    'Expected a signed text in the store, got an unsigned or damaged one.',
  );
}

/** For people. */
export const unverified = (stored: string): string => (JSON.parse(stored) as Signed).text;
