/** Finds the programs that tests need. */

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where packages put servers that are not on the PATH. */
const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];

export const foldersOnPath = (): string[] =>
  (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');

/** The path of the first of `names` that is on this machine. */
export function findProgram(...names: string[]): string | null {
  const folders = [...foldersOnPath(), ...usualFolders];
  for (const name of names) {
    const folder = folders.find((one) => existsSync(join(one, name)));
    if (folder) return join(folder, name);
  }
  return null;
}

/**
 * What was found; throws when that is nothing, with the way to get it. Also in `npm test`, which needs npm alone: on a machine that happens
 * to have the program nobody would notice.
 */
export function need<T>(what: string, found: T | null, packages: string): T {
  if (process.env.LONGSHORE_TESTS === 'quick')
    throw new Error(`npm test cannot use ${what}: list this file in \`later\` of test/kit/projects.ts.`);
  if (found) return found;
  throw new Error(
    `Expected ${what}, got none. npm run test:all gets it on Debian; by hand: apt-get install ${packages}.`,
  );
}
