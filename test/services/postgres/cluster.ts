/**
 * A Postgres server of the tests' own: in a temporary folder, on a free port, gone when the tests are. It never
 * touches a server that the machine runs already.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { need } from '../../kit/servers/programs.ts';
import { ownServer, started } from '../../kit/servers/server.ts';
import { type Programs, postgresPrograms, runnableBy } from './programs.ts';

const run = promisify(execFile);

export interface ClusterOptions {
  /** `false` is faster, and loses data when the machine stops, not when the server does. @default true */
  readonly fsync?: boolean;
  /** Further settings of the server, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** In which its own folder is made. @default the system's for temporary files */
  readonly under?: string;
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
  const { fsync = true, settings = {}, under = tmpdir(), standbyOf = null } = options;
  const identity = await serverIdentity();
  const folder = await mkdtemp(join(under, 'longshore-postgres-'));
  const password = standbyOf ? new URL(standbyOf.url).password : randomBytes(12).toString('hex');
  const safety = fsync ? {} : { fsync: 'off', full_page_writes: 'off', max_wal_size: '4GB' };
  const own = {
    max_connections: '300',
    wal_level: 'minimal',
    max_wal_senders: '0',
    ...safety,
    ...settings,
  };
  let programs: Programs;
  const server = await ownServer(
    folder,
    async () => {
      if (identity) await chown(folder, identity.uid, identity.gid);
      programs = await runnableBy(await postgresPrograms(), identity, folder);
      if (standbyOf) await copyDataFolder(programs, folder, standbyOf, identity);
      else await makeDataFolder(programs, folder, password, identity);
    },
    (port) => launch(programs.postgres, folder, { ...own, port: `${port}` }, identity),
  );
  const urlOf = (user: string, database: string): string =>
    `postgres://${user}:${password}@127.0.0.1:${server.port}/${database}`;
  const stop = (mode: StopMode = 'fast') => server.stop(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  const cluster: Cluster = {
    url: urlOf('longshore', 'longshore'),
    superuserUrl: urlOf('postgres', 'postgres'),
    port: server.port,
    version: programs!.version,
    start: server.start,
    stop,
    async restart(mode) {
      await stop(mode);
      await server.start();
    },
    signal: server.signal,
    remove: () => server.remove('SIGQUIT'), // the folder goes too: a checkpoint would be for nothing
  };
  if (standbyOf) return cluster;
  try {
    await makeOwner(cluster.superuserUrl, password);
  } catch (error) {
    await cluster.remove();
    throw error;
  }
  return cluster;
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
  const program = need('pg_basebackup beside the Postgres server', basebackup, 'postgresql');
  await run(program, [...source, ...target], { cwd: folder, ...identity });
}

function launch(
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
  return started('Postgres', server, server.stderr, /ready to accept (read-only )?connections/);
}

async function makeOwner(superuserUrl: string, password: string): Promise<void> {
  const client = new pg.Client(superuserUrl);
  await client.connect();
  await client.query(`CREATE ROLE longshore LOGIN PASSWORD '${password}'`);
  await client.query('CREATE DATABASE longshore OWNER longshore TEMPLATE template0');
  await client.end();
}
