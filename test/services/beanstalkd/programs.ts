/** Finds beanstalkd and the library that gives it a time of the tests' own. */

import { globSync } from 'node:fs';
import { findProgram, need } from '../../kit/servers/programs.ts';

const usualLibraries = [
  '/usr/lib/*/faketime/libfaketime.so.1',
  '/usr/lib/faketime/libfaketime.so.1',
  '/usr/lib64/faketime/libfaketime.so.1',
  '/usr/local/lib/faketime/libfaketime.so.1',
];

/** The path of a server. BEANSTALKD_SERVER in the environment names another one. */
export function beanstalkdProgram(): string {
  const { BEANSTALKD_SERVER } = process.env;
  return BEANSTALKD_SERVER || need('beanstalkd on the PATH', findProgram('beanstalkd'), 'beanstalkd');
}

/** The path of libfaketime, by which a real server runs by a clock of the tests. */
export const findFaketime = (): string | null => usualLibraries.flatMap((path) => globSync(path))[0] ?? null;

export const faketimeLibrary = (): string =>
  need('libfaketime, by which the laws move the time of a real beanstalkd', findFaketime(), 'libfaketime');
