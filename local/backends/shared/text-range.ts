/** A range of texts as one lower and one upper bound, so that a database reads only this part of an index. */

import type { TextRange } from '../../../core/contract/texts.ts';

/** In the order of databases, which compare bytes of UTF-8. */
export const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

interface TextBounds {
  readonly from: string;
  /** Whether the range has a text of the name `from`. */
  readonly hasFrom: boolean;
  /** The range has no text of this name. */
  readonly to: string;
}

/** `null` = the range is empty. */
export function boundsOf({ prefix, after, before }: Omit<TextRange, 'max'>): TextBounds | null {
  // After every name with this prefix, except names that continue with the last code point.
  const end = `${prefix}\u{10ffff}`;
  const hasFrom = after === undefined || isBefore(after, prefix);
  const from = hasFrom ? prefix : after;
  const to = before !== undefined && isBefore(before, end) ? before : end;
  return isBefore(from, to) ? { from, hasFrom, to } : null;
}
