/** Checks that many options share. All throw `CONFIG`. */

import { config, shown } from './errors.ts';
import { didYouMean } from './nearest.ts';

export const namePattern = /^[A-Za-z0-9._-]{1,128}$/;
/** `test` alone would take a missing name for the text "undefined". */
export const isName = (name: unknown): name is string => typeof name === 'string' && namePattern.test(name);

export function checkName(what: string, name: unknown): void {
  if (!isName(name)) throw config(`${what} must match ${namePattern}, got ${shown(name)}.`);
}

export const checkQueue = (queue: unknown): void => checkName("A queue's name", queue);

export function checkNumber(what: string, value: number, least: number): void {
  if (!Number.isFinite(value) || value < least) {
    throw config(`Expected ${what} to be a number of ${least} or more, got ${shown(value)}.`);
  }
}

export function checkInteger(what: string, value: unknown, least: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw config(`Expected ${what} to be an integer of ${least} or more, got ${shown(value)}.`);
  }
}

/** How to check each option of a call: the smallest integer, a `typeof`, or `''` = checked elsewhere. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, number | 'function' | 'boolean' | ''>>;

/** Options that were renamed after the first versions: old name, new name. */
const renamed: Readonly<Record<string, string>> = {
  while: 'during',
  with: 'resultsPayload',
  on: 'backendName',
  backends: 'otherBackends',
};

/** `null` = no option in `known` ever had this name. */
export function renamedText(given: string, whose: string, known: object): string | null {
  const name = Object.hasOwn(renamed, given) ? renamed[given]! : null;
  if (name === null || !Object.hasOwn(known, name)) return null;
  return `Option ${given} of ${whose} is called ${name} now.`;
}

/** Throws `CONFIG` on a Node that lacks what Longshore uses. The command line says the same before it imports anything. */
export function checkNode(version = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  throw config(
    `Longshore needs Node 22.18 or newer, this is ${version}. Install a newer Node (https://nodejs.org) and run it again.`,
  );
}

/** For calls whose options are not checked otherwise. */
export function refuseRenamed(whose: string, given: object, known: object): void {
  for (const name in given) {
    const text = Object.hasOwn(known, name) ? null : renamedText(name, whose, known);
    if (text !== null) throw config(text);
  }
}

const aType = (type: string): string => `${type.startsWith('o') ? 'an' : 'a'} ${type}`;

/** Also throws for an unknown option: in plain JavaScript a typing error would go unnoticed. */
export function checkOptions<Options>(whose: string, given: Options, kinds: OptionKinds<Options>): void {
  for (const name in given) {
    const value: unknown = given[name];
    const what = `${name} of ${whose}`;
    if (!Object.hasOwn(kinds, name))
      throw config(
        renamedText(name, whose, kinds) ??
          `Unknown option ${shown(name)} of ${whose}, only ${Object.keys(kinds).join(', ')}.${didYouMean(name, Object.keys(kinds))}`,
      );
    const kind = kinds[name];
    if (typeof kind === 'number') {
      if (value !== undefined) checkInteger(what, value, kind);
      // Show only the type of the value: a text may be a URL with a secret.
    } else if (kind && value != null && typeof value !== kind)
      throw config(`Expected ${what} to be ${aType(kind)}, got ${aType(typeof value)}.`);
  }
}
