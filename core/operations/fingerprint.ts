/** What is the same in the errors of letters that died of one cause. */

import { crypto } from '../base/crypto.ts';
import type { DeadLetterSummary } from '../contract/admin.ts';

/** No more of an error is looked at: what varies is mostly behind it, and each pattern stays cheap. */
const longestRead = 1_000;
const longestCompared = 300;
const hashDigits = 12;

/** In this order. None has a repetition within a repetition that could match the same characters. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '#'],
  [/"[^"\n]{0,500}"|`[^`\n]{0,500}`|(?<!\w)'[^'\n]{0,500}'(?!\w)/g, '"…"'],
  [/(?:\b[a-z][a-z0-9+.-]{0,20}:\/?)?(?:[/\\][\w.@%+~=:?&-]{1,200}){2,}/gi, '/…'],
  [/\b0x[0-9a-f]+\b|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b|\b(?=[a-z_]*[0-9])\w{16,}\b/gi, '#'],
  [/[0-9]+(?:[.,:][0-9]+)*/g, '#'],
  [/\s+/g, ' '],
];

export function withoutValues(error: string): string {
  let text = error.slice(0, longestRead);
  for (const [pattern, sign] of varying) text = text.replace(pattern, sign);
  return text.slice(0, longestCompared).trim();
}

/** 12 hex digits. */
export function fingerprintOf({
  job,
  reason,
  error,
}: Pick<DeadLetterSummary, 'job' | 'reason' | 'error'>): string {
  return crypto()
    .hash('sha256', JSON.stringify([job, reason, withoutValues(error)]))
    .slice(0, hashDigits);
}
