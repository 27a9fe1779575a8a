/** Finds the programs that tests need, and installs them where that is ours to do. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where packages put servers that are not on the PATH. */
const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

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

/** What `find` finds, if need be after the package of this name has been installed. */
export async function found<T>(
  packageName: string,
  find: () => T | null | Promise<T | null>,
): Promise<T | null> {
  const here = await find();
  if (here !== null) return here;
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return null;
  process.stderr.write(`Installing ${packageName} for the tests: apt-get install ${packageName}\n`);
  // RUNLEVEL: the tests need the program, not a server of the system's.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const maxBuffer = 64 * 1024 * 1024;
  await run('apt-get', ['update'], { env, maxBuffer });
  await run('apt-get', ['install', '-y', '--no-install-recommends', packageName], { env, maxBuffer });
  return find();
}
