/** Names and moments as table keys that sort the same way and use few kinds of characters. */

import { crypto } from '../../base/crypto.ts';

/** Characters of a key. Table storage allows 512; DynamoDB allows 1,024 in an index. */
const longest = 490;
const digestLetters = 43;

const code = (letter: string, digits: number): string =>
  letter.charCodeAt(0).toString(16).padStart(digits, '0');

/** An escape begins with a character that sorts where the escaped character does. */
const escaped = (name: string): string =>
  name.replace(/[^0-9:A-Za-z]/g, (letter) => {
    if (letter < '0') return `-${code(letter, 2)}`;
    if (letter < 'A') return `@${code(letter, 2)}`;
    if (letter < 'a') return `_${code(letter, 2)}`;
    return `~${code(letter, 4)}`;
  });

/** Sorts as the name does. Long names end in a digest, so names that differ only beyond some hundred characters have any order. */
export function sortable(name: string): string {
  const text = escaped(name);
  if (text.length <= longest) return text;
  const digest = crypto().createHash('sha256').update(name).digest('base64url');
  return `${text.slice(0, longest - digestLetters - 1)}!${digest}`;
}

/** The range of the texts of names with this prefix: `from` inclusive, `to` exclusive. */
export function sortableRange(prefix: string): { readonly from: string; readonly to: string } {
  const from = escaped(prefix).slice(0, longest - digestLetters - 1);
  return { from, to: `${from}~~` };
}

/** Sorts as text as the moment sorts as a number. */
export const momentText = (at: number): string =>
  String(Math.max(0, Math.ceil(Math.min(at, Number.MAX_SAFE_INTEGER)))).padStart(16, '0');

const latest = 9_999_999_999_999_999n;

/** The later the moment, the earlier the text. */
export const backwards = (at: number): string =>
  String(latest - BigInt(Math.max(0, Math.floor(at)))).padStart(16, '0');
