/**
 * A Redis server of the tests' own: in a temporary folder, on a free port, gone when the tests are. It never touches a
 * server that the machine runs already.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { keep } from '../postgres/keeper.ts';
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
  const program = await redisProgram();
  const folder = await mkdtemp(join(tmpdir(), 'longshore-redis-'));
  const keeper = keep(folder);
  // Others may use this machine too: so even here a password.
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
  try {
    let { server, port } = await onFreePort((free) => launch(program, { ...own, port: `${free}` }));
    keeper.watch(server.pid!);
    const redis: RedisServer = {
      url: `redis://:${password}@127.0.0.1:${port}`,
      port,
      get pid() {
        return server.pid!;
      },
      folder,
      async command(...args) {
        const client = createClient({ url: redis.url, RESP: 2 });
        client.on('error', () => {});
        await client.connect();
        try {
          return await client.sendCommand(args);
        } finally {
          client.destroy();
        }
      },
      async start() {
        if (isRunning(server)) return;
        server = await launch(program, { ...own, port: `${port}` });
        keeper.watch(server.pid!);
      },
      async stop(signal = 'SIGTERM') {
        if (!isRunning(server)) return;
        server.ref();
        const ended = once(server, 'exit');
        server.kill('SIGCONT'); // a server that was paused would not hear the next one
        server.kill(signal);
        await ended;
        keeper.watch(null);
      },
      signal: (name) => void server.kill(name),
      async remove() {
        await redis.stop('SIGKILL'); // the folder goes too: to write it would be for nothing
        await keeper.end();
      },
    };
    return redis;
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

/** Nothing can hold a port for a program that cannot be given one: when another was quicker, the next is tried. */
async function onFreePort(start: (port: number) => Promise<ChildProcess>) {
  for (let tries = 1; ; tries++) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as { port: number };
    probe.close();
    await once(probe, 'close');
    try {
      return { port, server: await start(port) };
    } catch (error) {
      if (tries === 5 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

/** Resolves when it takes connections; rejects with what it wrote when it ends before that. */
async function launch(program: string, settings: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  // In a session of its own, so that Ctrl-C reaches the tests alone and they can still end what they began.
  const server = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`Redis ended with code ${code} while starting:\n${log}`)));
    server.stdout!.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
      if (log.includes('eady to accept connections')) resolve();
    });
  });
  // Neither keeps this process alive: the keeper knows what to do when it ends.
  server.unref();
  (server.stdout as unknown as { unref(): void }).unref();
  return server;
}

const isRunning = (server: ChildProcess): boolean => server.exitCode === null && server.signalCode === null;
