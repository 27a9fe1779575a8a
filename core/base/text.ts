/** Texts that are stored and compared: keys, groups, labels, tenants, names. One rule applies to all of them. */

import { shown } from './errors.ts';
import { isStorable } from './json.ts';

/**
 * `null` = every queue and store keeps the text unchanged and distinct from others. Otherwise the fault, as the end of an error message. Half of
 * a surrogate pair is refused, because two such texts could be equal in UTF-8.
 */
export function faultOf(text: unknown, most = 256, least = 1): string | null {
  if (typeof text !== 'string' || text.length < least || text.length > most)
    return `of ${least} to ${most} characters, got ${shown(text)}`;
  if (isStorable(text)) return null;
  return text.includes('\0')
    ? `without U+0000, got ${shown(text)}`
    : `of whole characters, got ${shown(text)}: half of one. Cut texts with [...text].slice(0, n).join('')`;
}

export const isKept = (text: unknown, most?: number): text is string => faultOf(text, most) === null;
