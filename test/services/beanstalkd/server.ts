/**
 * A beanstalkd server of the tests' own: in a temporary folder, on a free port, gone when the tests are. It never touches a
 * server that the machine runs already.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Connection, openConnection } from '../../../local/backends/beanstalkd/connection.ts';
import { ownServer, started } from '../../kit/servers/server.ts';
import { beanstalkdProgram, faketimeLibrary } from './programs.ts';

export interface BeanstalkdServerOptions {
  /** Whether it writes a binlog, fsynced with every write. @default false */
  readonly binlog?: boolean;
  /** Further arguments, as `['-z', '1000']`. */
  readonly args?: readonly string[];
  /** How much memory it may have, its program included. @default any */
  readonly memoryKilobytes?: number;
  /** Whether its clock stands still until `setTime`. @default false */
  readonly stopped?: boolean;
}

export interface BeanstalkdServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** One of the numbers that `stats` shows, such as `current-waiting`. Asked on a connection that counts too, once there is one. */
  count(name: string): Promise<number>;
  /** A plain connection, to do what other programs do. Ends with the server. */
  connection(): Promise<Connection>;
  start(): Promise<void>;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Epoch ms; resolves when what has become due is. For a server whose clock stands still. */
  setTime(now: number): Promise<void>;
  /** Stops it and removes its folder; without this call that happens when this process ends, however it ends. */
  remove(): Promise<void>;
}

const startedWithinMs = 60_000;

export async function startBeanstalkd(options: BeanstalkdServerOptions = {}): Promise<BeanstalkdServer> {
  const { binlog = false, args = [], stopped = false, memoryKilobytes = 'unlimited' } = options;
  const program = ['/bin/sh', '-c', `ulimit -v ${memoryKilobytes}; exec "$0" "$@"`, beanstalkdProgram()];
  const library = stopped ? faketimeLibrary() : null;
  const folder = await mkdtemp(join(tmpdir(), 'longshore-beanstalkd-'));
  let creepMicros = 0;
  const timeFile = join(folder, 'time');
  const env: NodeJS.ProcessEnv = library
    ? { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: timeFile, FAKETIME_NO_CACHE: '1', TZ: 'UTC' }
    : {};
  /**
   * Each time a few microseconds later than asked for: libfaketime rounds, a job whose delay ends just now must be due, and a tube is
   * resumed by a pause of a nanosecond. Written in one piece, because a server that reads half of it takes the time of day.
   */
  const setClock = async (now: number) => {
    creepMicros += 3;
    const at = new Date(now + creepMicros / 1_000).toISOString().slice(0, 23).replace('T', ' ');
    await writeFile(`${timeFile}.next`, `${at}${`${creepMicros % 1_000}`.padStart(3, '0')}`);
    await rename(`${timeFile}.next`, timeFile);
  };
  const own = [...(binlog ? ['-b', join(folder, 'binlog'), '-f', '0'] : []), ...args];
  const server = await ownServer(
    folder,
    async () => {
      if (library) await setClock(Date.now());
      await mkdir(join(folder, 'binlog'));
    },
    (port) => launch(program, ['-p', `${port}`, ...own], env, answers(port)),
  );
  const address = { host: '127.0.0.1', port: server.port, silenceMs: 10_000 };
  let ownLine: Connection | null = null;
  const line = async (): Promise<Connection> => {
    if (!ownLine?.isOpen) ownLine = await openConnection(address);
    return ownLine;
  };
  /** It looks at its clock after each command: the first answer may still be of the old time. */
  const look = async () => {
    const to = await line();
    await to.send('list-tube-used');
    await to.send('list-tube-used');
  };
  return {
    url: `beanstalk://127.0.0.1:${server.port}`,
    port: server.port,
    get pid() {
      return server.pid;
    },
    async count(name) {
      const { data } = await (await line()).send('stats');
      return Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(data!)![1]);
    },
    connection: () => openConnection(address),
    start: server.start,
    stop: (signal = 'SIGTERM') => server.stop(signal),
    signal: server.signal,
    async setTime(now) {
      await setClock(now);
      await look();
    },
    remove: () => server.remove('SIGKILL'),
  };
}

function launch(
  [shell, ...before]: readonly string[],
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  isReady: Promise<void>,
): Promise<ChildProcess> {
  // In a session of its own, so that Ctrl-C reaches the tests alone and they can still end what they began.
  const server = spawn(shell!, [...before, '-l', '127.0.0.1', ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
  });
  return started('beanstalkd', server, server.stderr, isReady);
}

/** beanstalkd says nothing when it is ready. */
async function answers(port: number): Promise<void> {
  for (const since = performance.now(); performance.now() - since < startedWithinMs; await delay(10)) {
    const socket = connect({ host: '127.0.0.1', port });
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isThere) return;
  }
  throw new Error(`Expected beanstalkd to take connections within ${startedWithinMs} ms.`);
}
