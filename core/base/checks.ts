/** Checks that many options share. All throw `CONFIG`. */

import { config, shown } from './errors.ts';

export const namePattern = /^[A-Za-z0-9._-]{1,128}$/;
/** `test` alone would take a missing name for the text "undefined". */
export const isName = (name: unknown): name is string => typeof name === 'string' && namePattern.test(name);

export function checkQueue(queue: string): void {
  if (!isName(queue)) throw config(`A queue's name must match ${namePattern}, got ${shown(queue)}.`);
}

export function checkNumber(what: string, value: number, least: number): void {
  if (!Number.isFinite(value) || value < least) {
    throw config(`Expected ${what} to be a number of ${least} or more, got ${shown(value)}.`);
  }
}

export function checkInteger(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw config(`Expected ${what} to be an integer of ${least} or more, got ${shown(value)}.`);
  }
}
