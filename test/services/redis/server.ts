/** A Redis server for tests, in a temporary folder and on a free port. A server that the machine runs already is left alone. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { ownServer, started } from '../../kit/servers/server.ts';
import { redisProgram } from './programs.ts';

export interface RedisServerOptions {
  /** Whether it writes an append-only file, fsynced every second. @default false */
  readonly appendOnly?: boolean;
  /** Further settings, as in redis.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
  /** One command on a connection of its own. */
  command(...args: string[]): Promise<unknown>;
  start(): Promise<void>;
  /** SIGTERM writes what is to be written; SIGKILL is a crash. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Stops it and removes its folder; without this call that happens when this process ends, however it ends. */
  remove(): Promise<void>;
}

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { appendOnly = false, settings = {} } = options;
  const program = redisProgram();
  const folder = await mkdtemp(join(tmpdir(), 'longshore-redis-'));
  // Other users may share this machine.
  const password = randomBytes(12).toString('hex');
  const own = {
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: appendOnly ? 'yes' : 'no',
    appendfsync: 'everysec',
    requirepass: password,
    ...settings,
  };
  const server = await ownServer(
    folder,
    async () => {},
    (port) => launch(program, { ...own, port: `${port}` }),
  );
  const url = `redis://:${password}@127.0.0.1:${server.port}`;
  return {
    url,
    port: server.port,
    get pid() {
      return server.pid;
    },
    folder,
    async command(...args) {
      const client = createClient({ url, RESP: 2 });
      client.on('error', () => {});
      await client.connect();
      try {
        return await client.sendCommand(args);
      } finally {
        client.destroy();
      }
    },
    start: server.start,
    stop: (signal = 'SIGTERM') => server.stop(signal),
    signal: server.signal,
    remove: () => server.remove('SIGKILL'), // the folder is removed too, so nothing need be written
  };
}

function launch(program: string, settings: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  // Detached: Ctrl-C must reach the tests only, which then stop the server.
  const server = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  return started('Redis', server, server.stdout, /eady to accept connections/);
}
