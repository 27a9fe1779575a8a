/** Names and moments as keys of tables that sort by them, and take few characters. */

import { crypto } from '../../base/crypto.ts';

/** Letters of a key: Table storage takes 512, DynamoDB 1,024 of an index. */
const longest = 490;
const digestLetters = 43;

const code = (letter: string, digits: number): string =>
  letter.charCodeAt(0).toString(16).padStart(digits, '0');

/** What stands in the place of a character begins as all its neighbours in the order do. */
const escaped = (name: string): string =>
  name.replace(/[^0-9:A-Za-z]/g, (letter) => {
    if (letter < '0') return `-${code(letter, 2)}`;
    if (letter < 'A') return `@${code(letter, 2)}`;
    if (letter < 'a') return `_${code(letter, 2)}`;
    return `~${code(letter, 4)}`;
  });

/** Sorts as the name does. Of names that are alike for some hundred characters the rest is a digest, so these have any order. */
export function sortable(name: string): string {
  const text = escaped(name);
  if (text.length <= longest) return text;
  const digest = crypto().createHash('sha256').update(name).digest('base64url');
  return `${text.slice(0, longest - digestLetters - 1)}!${digest}`;
}

/** The first and the last text that a name with this beginning may have, the last left out. */
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
