/** Sizes in bytes of UTF-8: the check of a body before a backend sends it, and the cut of a long error. */

import { LongshoreError } from '../base/errors.ts';
import type { Replacement } from '../contract/admin.ts';

/** The error `LIMIT`; `null` = the body fits. One UTF-16 unit is at most three bytes, so a short text is not counted. */
export function tooLarge(body: string, maxBodyBytes: number): LongshoreError | null {
  if (body.length * 3 <= maxBodyBytes) return null;
  const got = Buffer.byteLength(body);
  if (got <= maxBodyBytes) return null;
  return new LongshoreError(
    'LIMIT',
    `Expected a body of at most ${maxBodyBytes} bytes, got ${got}. Store the data elsewhere and send its id.`,
  );
}

/** Throws `LIMIT` if a replacement of a dead letter is too large. Call it before the first change. */
export function checkReplaced(
  replaced: ReadonlyMap<string, Replacement> | undefined,
  maxBodyBytes: number,
): void {
  for (const { body } of replaced?.values() ?? []) checkBody(body, maxBodyBytes);
}

/** Throws `LIMIT` for a body that is too large. `undefined` = no body to check. */
export function checkBody(body: string | undefined, maxBodyBytes: number): void {
  const error = body !== undefined && tooLarge(body, maxBodyBytes);
  if (error) throw error;
}

/** Cuts a text to at most `bytes` of UTF-8, never in the middle of a character. */
export function cutText(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
