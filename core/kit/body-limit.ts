/** The check of a body's size that every backend makes before it sends. */

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
