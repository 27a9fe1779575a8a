/** npm's rules for the name of a new package. */

import { builtinModules } from 'node:module';

const longest = 214;
const taken = ['node_modules', 'favicon.ico'];

/** Why npm would refuse the name; `null` = it is good. */
export function complaintAbout(name: string): string | null {
  if (name === '') return 'is empty';
  if (name.length > longest) return `is longer than ${longest} characters`;
  if (/^[._-]/.test(name)) return `begins with "${name[0]}"`;
  if (name !== name.toLowerCase()) return 'has capital letters';
  if (/[~'!()*]/.test(name) || encodeURIComponent(name) !== name)
    return 'has characters other than a-z 0-9 . _ -';
  if (taken.includes(name) || builtinModules.includes(name)) return 'belongs to Node or npm';
  return null;
}
