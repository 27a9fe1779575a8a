/** Gets the programs that tests need and npm does not bring: by apt where that is ours to do, elsewhere it says how. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findChromium } from '../../e2e/dashboard/programs.ts';
import { findFaketime } from '../../services/beanstalkd/programs.ts';
import { newestOfMachine } from '../../services/postgres/programs.ts';
import { findPrometheus } from '../../services/prometheus/programs.ts';
import { findProgram } from './programs.ts';

/** By the name of the Debian package. */
const needs: Readonly<Record<string, () => unknown>> = {
  beanstalkd: () => findProgram('beanstalkd'),
  chromium: findChromium,
  libfaketime: findFaketime,
  pgbouncer: () => findProgram('pgbouncer'),
  postgresql: newestOfMachine,
  prometheus: findPrometheus,
  python3: () => findProgram('python3'),
  supervisor: () => findProgram('supervisord'),
  systemd: () => findProgram('systemd-analyze'),
  'redis-server': () => findProgram('redis-server', 'valkey-server'),
};

async function missingPackages(): Promise<string[]> {
  const missing: string[] = [];
  for (const [name, find] of Object.entries(needs)) if (!(await find())) missing.push(name);
  return missing;
}

function apt(...args: string[]): void {
  // RUNLEVEL: the tests need the programs, not servers of the system's.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const { status } = spawnSync('apt-get', args, { env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`apt-get ${args[0]} failed: see above.`);
}

/** Throws with one line on how to get what is missing. */
export async function installPrograms(): Promise<void> {
  const missing = await missingPackages();
  if (missing.length === 0) return;
  const byHand = `apt-get install ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
    throw new Error(
      `Expected ${missing.join(', ')} on this machine. Install them: ${byHand} (or the like of your system), or run this as root on Debian.`,
    );
  }
  apt('update');
  apt('install', '-y', '--no-install-recommends', ...missing);
}
