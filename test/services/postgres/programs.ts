/** Finds the programs of a Postgres server. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { foldersOnPath, found } from '../../kit/servers/programs.ts';

const run = promisify(execFile);

export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
  readonly basebackup: string;
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

/** The server in POSTGRES_FOLDER, else the newest one on this machine. Throws with the way to get one when there is none. */
export async function postgresPrograms(): Promise<Programs> {
  const { POSTGRES_FOLDER: folder } = process.env;
  if (folder) return programsIn(folder);
  const programs = await found('postgresql', newest);
  if (!programs) {
    throw new Error(
      'Expected the Postgres server programs (initdb, postgres) on the PATH or in a usual folder, got none. ' +
        'Install them: apt-get install postgresql, or brew install postgresql.',
    );
  }
  return programs;
}

async function newest(): Promise<Programs | null> {
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
  return { initdb: join(folder, 'initdb'), postgres, basebackup: join(folder, 'pg_basebackup'), version };
}
