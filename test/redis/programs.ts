/** Finds the program of a Redis or Valkey server, and installs one where that is ours to do. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const names = ['redis-server', 'valkey-server'];
/** Where packages put servers that are not on the PATH. */
const usualFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** The path of a server. REDIS_SERVER in the environment names another one. Throws with the way to get one when there is none. */
export async function redisProgram(): Promise<string> {
  const found = find() ?? (canInstall() ? await install() : null);
  if (found) return found;
  throw new Error(
    'Expected redis-server (or valkey-server) on the PATH, got none. Install it: apt-get install redis-server, or brew install redis.',
  );
}

function find(): string | null {
  const { REDIS_SERVER, PATH = '' } = process.env;
  if (REDIS_SERVER) return REDIS_SERVER;
  const folders = [...PATH.split(delimiter).filter((folder) => folder !== ''), ...usualFolders];
  for (const name of names) {
    const folder = folders.find((one) => existsSync(join(one, name)));
    if (folder) return join(folder, name);
  }
  return null;
}

const canInstall = (): boolean => process.getuid?.() === 0 && existsSync('/etc/debian_version');

async function install(): Promise<string | null> {
  process.stderr.write('Installing Redis for the tests: apt-get install redis-server\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const maxBuffer = 64 * 1024 * 1024;
  await run('apt-get', ['update'], { env, maxBuffer });
  // RUNLEVEL: the tests need the program, not a server of the system's.
  const quietly = { env: { ...env, RUNLEVEL: '1' }, maxBuffer };
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], quietly);
  return find();
}
