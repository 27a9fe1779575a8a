/**
 * `node test/run.ts <quick|changed|all> [arguments for vitest]`: what `npm test`, `npm run test:changed` and `npm run test:all` run.
 * `quick` needs Node and npm and nothing else. `changed` runs those of them that import what has changed since the main branch, and those that read all pages and sources. `all` has everything, and gets the servers for it first; in CI it leaves out what `npm test` has just run.
 * `programs` gets the servers alone.
 */

import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Extent, isOfClouds } from './kit/projects.ts';
import { installPrograms } from './kit/servers/install.ts';
import { newestOfMachine } from './services/postgres/programs.ts';

const root = resolve(import.meta.dirname, '..');
const reportOf = (extent: 'quick' | 'all'): string => join(root, `dist/test-${extent}.json`);
const [wanted, ...args] = process.argv.slice(2);

interface Run {
  /** With the exit code. */
  readonly ended: Promise<number>;
  stop(): void;
}

function run(command: readonly string[], options: SpawnOptions = {}): Run {
  const child = spawn(process.execPath, command, { cwd: root, stdio: 'inherit', ...options });
  const ended = (once(child, 'exit') as Promise<[number | null]>).then(([code]) => code ?? 1);
  return { ended, stop: () => child.kill() };
}

/** Style and types. Resolves with what those say that found something. */
async function complaints(): Promise<string> {
  const checks = [
    ['node_modules/@biomejs/biome/bin/biome', 'ci', '--colors=off', '--error-on-warnings', '.'],
    ['node_modules/typescript/bin/tsc'],
    ['node_modules/typescript/bin/tsc', '-p', 'infra/dashboard'],
  ];
  const outputs = checks.map(async (command) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const [code, ...said] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return code[0] === 0 ? '' : `${command.join(' ')} failed.\n${said.join('')}`;
  });
  return (await Promise.all(outputs)).join('');
}

/** Style and types take one processor for 15 s, so the tests run beside them, and end early when something is wrong there. */
async function checkedBeside(tests: Run): Promise<number> {
  const wrong = await complaints();
  if (wrong !== '') tests.stop();
  const code = await tests.ended;
  process.stdout.write(wrong);
  return wrong === '' ? code : 1;
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

/** Files that differ from that commit, new ones included; `null` = git does not know. */
function changedSince(base: string): readonly string[] | null {
  const changed = git('diff', '--name-only', base);
  const added = git('ls-files', '--others', '--exclude-standard');
  return changed === null || added === null ? null : `${changed}\n${added}`.split('\n').filter(Boolean);
}

/** Whether the tests of clouds are about what has changed. CI runs them with the rest. */
function changesClouds(): boolean {
  if (process.env.CI !== undefined) return false;
  const base = mergeBase();
  return (base === null ? null : changedSince(base))?.some(isOfClouds) ?? true;
}

async function startTests(extent: Extent, report: string, only: readonly string[] = []): Promise<Run> {
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
    if (changedSince(base)?.length === 0) {
      process.stdout.write('Nothing has changed since the main branch.\n');
      return 0;
    }
    const importing = ['--changed', base, '--passWithNoTests'];
    const code = await checkedBeside(await startTests('quick', reportOf('quick'), importing));
    // These read pages and sources as texts: no import says so.
    return code === 0 ? (await startTests('quick', reportOf('quick'), ['test/unit/house'])).ended : code;
  }
  if (wanted === 'programs') {
    await installPrograms();
    return 0;
  }
  if (wanted !== 'quick' && wanted !== 'all') {
    process.stderr.write('Usage: node test/run.ts <quick|changed|all|programs> [arguments for vitest]\n');
    return 2;
  }
  const isRest = wanted === 'all' && process.env.CI !== undefined && existsSync(reportOf('quick'));
  rmSync(reportOf(wanted), { force: true });
  if (wanted === 'all') await installPrograms();
  if (isRest) {
    process.stdout.write('What npm test has just run here is not run again.\n');
    return (await startTests('rest', reportOf('all'))).ended;
  }
  return checkedBeside(await startTests(wanted, reportOf(wanted)));
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
