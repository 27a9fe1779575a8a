/**
 * A Postgres server of the tests' own: in a temporary folder, on a free port, gone when the tests are. It never
 * touches a server that the machine runs already.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { keep } from './keeper.ts';
import { type Programs, postgresPrograms } from './programs.ts';

const run = promisify(execFile);

export interface ClusterOptions {
  /** `false` is faster, and loses data when the machine stops, not when the server does. @default true */
  readonly fsync?: boolean;
  /** Further settings of the server, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Follows this server as a copy that can take its place. Both must have `standbySettings` among their settings. */
  readonly standbyOf?: Cluster;
}

/** Of a server that others may follow, and of those. */
export const standbySettings = { wal_level: 'replica', max_wal_senders: '4' } as const;

/** `fast` ends the connections and writes a checkpoint; `immediate` is a crash, repaired at the next start. */
export type StopMode = 'fast' | 'immediate';

export interface Cluster {
  /** An ordinary user's own database: nobody needs a superuser to run jobs. */
  readonly url: string;
  readonly superuserUrl: string;
  readonly port: number;
  readonly version: string;
  start(): Promise<void>;
  stop(mode?: StopMode): Promise<void>;
  restart(mode: StopMode): Promise<void>;
  /** To the server's main process, such as SIGSTOP and SIGCONT; connections have processes of their own. */
  signal(name: NodeJS.Signals): void;
  /** Stops the server and removes its folder; without this call that happens when this process ends, however it ends. */
  remove(): Promise<void>;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { fsync = true, settings = {}, standbyOf = null } = options;
  const programs = await postgresPrograms();
  const folder = await mkdtemp(join(tmpdir(), 'longshore-postgres-'));
  const keeper = keep(folder);
  try {
    const identity = await serverIdentity();
    if (identity) await chown(folder, identity.uid, identity.gid);
    const password = standbyOf ? new URL(standbyOf.url).password : randomBytes(12).toString('hex');
    if (standbyOf) await copyDataFolder(programs, folder, standbyOf, identity);
    else await makeDataFolder(programs, folder, password, identity);
    const safety = fsync ? {} : { fsync: 'off', full_page_writes: 'off', max_wal_size: '4GB' };
    const own = {
      max_connections: '300',
      wal_level: 'minimal',
      max_wal_senders: '0',
      ...safety,
      ...settings,
    };
    const launch = (port: number) =>
      startServer(programs.postgres, folder, { ...own, port: `${port}` }, identity);
    let { server, port } = await onFreePort(launch);
    keeper.watch(server.pid!);

    const urlOf = (user: string, database: string): string =>
      `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
    const cluster: Cluster = {
      url: urlOf('longshore', 'longshore'),
      superuserUrl: urlOf('postgres', 'postgres'),
      port,
      version: programs.version,
      async start() {
        if (isRunning(server)) return;
        server = await launch(port);
        keeper.watch(server.pid!);
      },
      async stop(mode = 'fast') {
        if (!isRunning(server)) return;
        server.ref();
        const ended = once(server, 'exit');
        server.kill('SIGCONT'); // a server that was paused would not hear the next one
        server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
        await ended;
        keeper.watch(null);
      },
      async restart(mode) {
        await cluster.stop(mode);
        await cluster.start();
      },
      signal: (name) => void server.kill(name),
      async remove() {
        await cluster.stop('immediate'); // the folder goes too: a checkpoint would be for nothing
        await keeper.end();
      },
    };
    if (!standbyOf) await makeOwner(cluster.superuserUrl, password);
    return cluster;
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

/** Postgres refuses to run as root; packages bring a user for it. `null` = as ourselves. */
async function serverIdentity(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const numberOf = async (user: string, part: '-u' | '-g') => Number((await run('id', [part, user])).stdout);
  const identityOf = async (user: string) => ({
    uid: await numberOf(user, '-u'),
    gid: await numberOf(user, '-g'),
  });
  return identityOf('postgres').catch(() => identityOf('nobody'));
}

type Identity = Awaited<ReturnType<typeof serverIdentity>>;

async function makeDataFolder(
  { initdb }: Programs,
  folder: string,
  password: string,
  identity: Identity,
): Promise<void> {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password);
  // Others may use this machine too, and a superuser of Postgres can start programs: so even here a password.
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const rest = ['--encoding=UTF8', '--no-locale', '--no-sync'];
  await run(initdb, [`--pgdata=${join(folder, 'data')}`, ...access, ...rest], { cwd: folder, ...identity });
}

/** With what the copy needs to follow the server. */
async function copyDataFolder(
  { basebackup }: Programs,
  folder: string,
  { superuserUrl }: Cluster,
  identity: Identity,
): Promise<void> {
  const source = ['--dbname', superuserUrl, '--write-recovery-conf', '--wal-method=stream'];
  const target = ['--pgdata', join(folder, 'data'), '--checkpoint=fast', '--no-sync'];
  await run(basebackup, [...source, ...target], { cwd: folder, ...identity });
}

/** Nothing can hold a port for a program that cannot be given one: when another was quicker, the next is tried. */
async function onFreePort(launch: (port: number) => Promise<ChildProcess>) {
  for (let tries = 1; ; tries++) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as { port: number };
    probe.close();
    await once(probe, 'close');
    try {
      return { port, server: await launch(port) };
    } catch (error) {
      if (tries === 5 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}

/** Resolves when it takes connections; rejects with what it wrote when it ends before that. */
async function startServer(
  program: string,
  folder: string,
  settings: Readonly<Record<string, string>>,
  identity: Identity,
): Promise<ChildProcess> {
  const places = { listen_addresses: '127.0.0.1', unix_socket_directories: folder };
  const options = Object.entries({ ...places, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  // In a session of its own, so that Ctrl-C reaches the tests alone and they can still end what they began.
  const server = spawn(program, ['-D', join(folder, 'data'), ...options], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...identity,
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', (code) =>
      reject(new Error(`Postgres ended with code ${code} while starting:\n${log}`)),
    );
    server.stderr!.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4_000);
      if (/ready to accept (read-only )?connections/.test(log)) resolve();
    });
  });
  // Neither keeps this process alive: the keeper knows what to do when it ends.
  server.unref();
  (server.stderr as unknown as { unref(): void }).unref();
  return server;
}

const isRunning = (server: ChildProcess): boolean => server.exitCode === null && server.signalCode === null;

async function makeOwner(superuserUrl: string, password: string): Promise<void> {
  const client = new pg.Client(superuserUrl);
  await client.connect();
  await client.query(`CREATE ROLE longshore LOGIN PASSWORD '${password}'`);
  await client.query('CREATE DATABASE longshore OWNER longshore TEMPLATE template0');
  await client.end();
}
