/** Texts by their size in UTF-8: the check that every backend makes before it sends a body, and the cut of an error. */

import { LongshoreError } from '../base/errors.ts';

/** `LIMIT`, or `null` for a body that fits. One UTF-16 unit is at most three bytes, so a short text needs no counting. */
export function tooLarge(body: string, maxBodyBytes: number): LongshoreError | null {
  if (body.length * 3 <= maxBodyBytes) return null;
  const got = Buffer.byteLength(body);
  if (got <= maxBodyBytes) return null;
  return new LongshoreError(
    'LIMIT',
    `Expected a body of at most ${maxBodyBytes} bytes, got ${got}. Store the data elsewhere and send its id.`,
  );
}

/** Cuts a text to so many UTF-8 bytes, never in the middle of a character. */
export function cutText(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
