/**
 * `node test/run.ts <quick|changed|all> [arguments for vitest]`: what `npm test`, `npm run test:changed` and `npm run test:all` run.
 * `quick` needs Node and npm and nothing else. `changed` runs those of them that import what has changed since the main branch. `all` has everything, and gets the servers for it first; in CI it leaves out what `npm test` has just run.
 */

import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Extent, isOfClouds } from './kit/projects.ts';
import { installPrograms } from './kit/servers/install.ts';
import { newestOfMachine } from './services/postgres/programs.ts';

const root = resolve(import.meta.dirname, '..');
const reportOf = (extent: 'quick' | 'all'): string => join(root, `dist/test-${extent}.json`);
const [wanted, ...args] = process.argv.slice(2);

async function run(command: readonly string[], options: SpawnOptions = {}): Promise<number> {
  const child = spawn(process.execPath, command, { cwd: root, stdio: 'inherit', ...options });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Style and types: in the way of nothing, so both at once. */
async function checked(): Promise<boolean> {
  const codes = await Promise.all([
    run(['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '--error-on-warnings', '.']),
    run(['node_modules/typescript/bin/tsc']),
    run(['node_modules/typescript/bin/tsc', '-p', 'infra/dashboard']),
  ]);
  return codes.every((code) => code === 0);
}

const git = (...command: readonly string[]): string | null => {
  const { status, stdout } = spawnSync('git', command, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
};

/** The commit at which this branch left the main one; `null` = this is no clone. On the main branch it is the last one that others have. */
const mergeBase = (): string | null =>
  ['origin/HEAD', 'origin/main', 'main'].reduce<string | null>(
    (found, branch) => found ?? git('merge-base', 'HEAD', branch),
    null,
  );

/** Whether the tests of clouds are about what has changed. CI runs them with the rest. */
function changesClouds(): boolean {
  if (process.env.CI !== undefined) return false;
  const base = mergeBase();
  const changed = base === null ? null : git('diff', '--name-only', base);
  const added = git('ls-files', '--others', '--exclude-standard');
  return changed === null || `${changed}\n${added}`.split('\n').some(isOfClouds);
}

async function tested(extent: Extent, report: string, only: readonly string[] = []): Promise<number> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // The server that comes with npm has been tested by `npm test`: here that of the machine is.
  const postgres = extent === 'quick' ? {} : { POSTGRES_FOLDER: (await newestOfMachine())!.folder };
  const clouds = extent === 'quick' && changesClouds() ? { LONGSHORE_CLOUDS: '1' } : {};
  const env = { ...postgres, ...clouds, ...process.env, LONGSHORE_TESTS: extent };
  return run(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...only, ...args], { env });
}

async function main(): Promise<number> {
  if (wanted === 'changed') {
    const base = mergeBase();
    if (base === null) throw new Error('Expected a clone with a main branch to compare with. Run npm test.');
    return (await checked())
      ? tested('quick', reportOf('quick'), ['--changed', base, '--passWithNoTests'])
      : 1;
  }
  if (wanted !== 'quick' && wanted !== 'all') {
    process.stderr.write('Usage: node test/run.ts <quick|changed|all> [arguments for vitest]\n');
    return 2;
  }
  const isRest = wanted === 'all' && process.env.CI !== undefined && existsSync(reportOf('quick'));
  rmSync(reportOf(wanted), { force: true });
  if (wanted === 'all') await installPrograms();
  if (isRest) {
    process.stdout.write('What npm test has just run here is not run again.\n');
    return tested('rest', reportOf('all'));
  }
  return (await checked()) ? tested(wanted, reportOf(wanted)) : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  },
);
