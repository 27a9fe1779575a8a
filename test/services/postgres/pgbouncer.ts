/** A pgbouncer of the tests' own, which shares connections between transactions. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../kit/network/free-port.ts';
import { keep } from '../../kit/servers/keeper.ts';
import { findProgram, need } from '../../kit/servers/programs.ts';

const run = promisify(execFile);

export interface Bouncer {
  /** The address of the server, through pgbouncer. */
  readonly url: string;
  stop(): Promise<void>;
}

/** @param url of the server, with the user and password that pgbouncer will let in and use */
export async function startBouncer(url: string): Promise<Bouncer> {
  const program = bouncerProgram();
  const target = new URL(url);
  const folder = await mkdtemp(join(tmpdir(), 'longshore-pgbouncer-'));
  const keeper = keep(folder);
  try {
    // It refuses to run as root, as Postgres does.
    const identity = process.getuid?.() === 0 ? await identityOf('nobody') : null;
    if (identity) await chown(folder, identity.uid, identity.gid);
    const users = join(folder, 'users.txt');
    await writeFile(users, `"${target.username}" "${target.password}"\n`, { mode: 0o600 });
    if (identity) await chown(users, identity.uid, identity.gid);
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      const file = join(folder, 'pgbouncer.ini');
      await writeFile(
        file,
        `[databases]
* = host=${target.hostname} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
`,
      );
      const child = spawn(program, [file], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], ...identity });
      const ended = once(child, 'exit');
      keeper.watch(child.pid!);
      const log = await started(child.stderr!, ended);
      if (log === null) {
        const own = new URL(url);
        own.hostname = '127.0.0.1';
        own.port = String(port);
        return {
          url: own.href,
          async stop() {
            child.kill('SIGTERM');
            await ended;
            keeper.watch(null);
            await keeper.end();
          },
        };
      }
      if (tries === 5 || !/in use/i.test(log)) throw new Error(`pgbouncer did not start:\n${log}`);
    }
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

/** Resolves with `null` when it takes connections, or with what it wrote when it ended before that. */
async function started(stderr: NodeJS.ReadableStream, ended: Promise<unknown>): Promise<string | null> {
  let log = '';
  const up = new Promise<null>((resolve) => {
    stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
      if (log.includes('process up')) resolve(null);
    });
  });
  return Promise.race([up, ended.then(() => log)]);
}

const bouncerProgram = (): string => need('pgbouncer on the PATH', findProgram('pgbouncer'), 'pgbouncer');

async function identityOf(user: string): Promise<{ uid: number; gid: number }> {
  const numberOf = async (part: '-u' | '-g') => Number((await run('id', [part, user])).stdout);
  return { uid: await numberOf('-u'), gid: await numberOf('-g') };
}
