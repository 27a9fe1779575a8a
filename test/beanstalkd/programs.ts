/** Finds beanstalkd and the library that gives it a time of the tests' own, and installs them where that is ours to do. */

import { execFile } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where packages put servers that are not on the PATH. */
const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];
const usualLibraries = [
  '/usr/lib/*/faketime/libfaketime.so.1',
  '/usr/lib/faketime/libfaketime.so.1',
  '/usr/lib64/faketime/libfaketime.so.1',
  '/usr/local/lib/faketime/libfaketime.so.1',
];

/** The path of a server. BEANSTALKD_SERVER in the environment names another one. Throws with the way to get one when there is none. */
export async function beanstalkdProgram(): Promise<string> {
  const found = findServer() ?? (await installed('beanstalkd', findServer));
  if (found) return found;
  throw new Error(
    'Expected beanstalkd on the PATH, got none. Install it: apt-get install beanstalkd, or brew install beanstalkd.',
  );
}

/** The path of libfaketime, by which a real server runs by a clock of the tests. Throws with the way to get it. */
export async function faketimeLibrary(): Promise<string> {
  const found = findLibrary() ?? (await installed('libfaketime', findLibrary));
  if (found) return found;
  throw new Error(
    'Expected libfaketime, by which the laws move the time of a real beanstalkd, got none. Install it: apt-get install libfaketime.',
  );
}

function findServer(): string | null {
  const { BEANSTALKD_SERVER, PATH = '' } = process.env;
  if (BEANSTALKD_SERVER) return BEANSTALKD_SERVER;
  const folders = [...PATH.split(delimiter).filter((folder) => folder !== ''), ...usualFolders];
  const folder = folders.find((one) => existsSync(join(one, 'beanstalkd')));
  return folder ? join(folder, 'beanstalkd') : null;
}

const findLibrary = (): string | null => usualLibraries.flatMap((pattern) => globSync(pattern))[0] ?? null;

async function installed(name: string, find: () => string | null): Promise<string | null> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return null;
  process.stderr.write(`Installing ${name} for the tests: apt-get install ${name}\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const maxBuffer = 64 * 1024 * 1024;
  await run('apt-get', ['update'], { env, maxBuffer });
  // RUNLEVEL: the tests need the program, not a server of the system's.
  const quietly = { env: { ...env, RUNLEVEL: '1' }, maxBuffer };
  await run('apt-get', ['install', '-y', '--no-install-recommends', name], quietly);
  return find();
}
