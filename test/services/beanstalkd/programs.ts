/** Finds beanstalkd and the library that gives it a time of the tests' own. */

import { globSync } from 'node:fs';
import { findProgram, found } from '../../kit/servers/programs.ts';

const usualLibraries = [
  '/usr/lib/*/faketime/libfaketime.so.1',
  '/usr/lib/faketime/libfaketime.so.1',
  '/usr/lib64/faketime/libfaketime.so.1',
  '/usr/local/lib/faketime/libfaketime.so.1',
];

/** The path of a server. BEANSTALKD_SERVER in the environment names another one. Throws with the way to get one when there is none. */
export async function beanstalkdProgram(): Promise<string> {
  const { BEANSTALKD_SERVER } = process.env;
  const program = BEANSTALKD_SERVER || (await found('beanstalkd', () => findProgram('beanstalkd')));
  if (program) return program;
  throw new Error(
    'Expected beanstalkd on the PATH, got none. Install it: apt-get install beanstalkd, or brew install beanstalkd.',
  );
}

/** The path of libfaketime, by which a real server runs by a clock of the tests. Throws with the way to get it. */
export async function faketimeLibrary(): Promise<string> {
  const library = await found(
    'libfaketime',
    () => usualLibraries.flatMap((path) => globSync(path))[0] ?? null,
  );
  if (library) return library;
  throw new Error(
    'Expected libfaketime, by which the laws move the time of a real beanstalkd, got none. Install it: apt-get install libfaketime.',
  );
}
