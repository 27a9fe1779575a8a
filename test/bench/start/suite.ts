/** What the package costs before it has done anything, as it is installed from its tarball: an import, the command line, the installation. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, contest, pairs, type Row, ratioRow, type Suite, suite } from '../kit/bench.ts';

interface Installed {
  /** A project with the tarball and BullMQ. */
  readonly folder: string;
  readonly tarball: string;
  readonly bullmq: string;
  stop(): Promise<void>;
}

const drivers = ['@redis/client', 'pg'];

function npm(folder: string, ...args: string[]): string {
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel', 'error'];
  return execFileSync('npm', [...args, ...options], { cwd: folder, encoding: 'utf8' });
}

function emptyProject(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  writeFileSync(join(folder, 'empty.js'), 'export {};\n');
  return folder;
}

async function install(bench: Bench): Promise<Installed> {
  const versions = JSON.parse(readFileSync(join(bench.root, 'package.json'), 'utf8')).devDependencies;
  const peers = JSON.parse(readFileSync(join(bench.root, 'test/bench/package.json'), 'utf8')).dependencies;
  const built = join(bench.folder(), 'package');
  execFileSync(process.execPath, [join(bench.root, 'infra/release/build.ts'), built], {
    stdio: ['ignore', 'ignore', 2],
  });
  const folder = emptyProject(bench.folder());
  const tarball = join(folder, npm(folder, 'pack', built).trim().split('\n').at(-1)!);
  const bullmq = `bullmq@${peers.bullmq}`;
  npm(folder, 'install', tarball, bullmq, ...drivers.map((name) => `${name}@${versions[name]}`));
  return { folder, tarball, bullmq, stop: async () => {} };
}

/** In a new process: how long the import takes, ms. */
function importMs(folder: string, name: string): number {
  const code = `const at = performance.now(); await import(${JSON.stringify(name)}); console.log(performance.now() - at)`;
  const args = ['--no-warnings', '--input-type=module', '--eval', code];
  return Number(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }));
}

async function imports(bench: Bench, { folder }: Installed): Promise<Row[]> {
  const compared = { longshore: 0.15, 'longshore/local': 0.5 } as const;
  const others = [
    'aws',
    'azure',
    'http',
    'jobs',
    'local/postgres',
    'local/redis',
    'local/sqlite',
    'testing',
  ] as const;
  const names = [...Object.keys(compared), ...others.map((name) => `longshore/${name}`), 'bullmq'];
  const rounds = await contest(bench, names, async (name) => importMs(folder, name));
  return names
    .filter((name) => name !== 'bullmq')
    .map((name) => {
      const measured = rounds.map((round) => ({ ours: round[name]!, theirs: round.bullmq! }));
      const most = compared[name as keyof typeof compared];
      return ratioRow(`import '${name}'`, 'ms', measured, most === undefined ? null : { most }, 'bullmq');
    });
}

/** From the start of the process to its end, ms. */
function runMs(folder: string, ...args: readonly string[]): number {
  const startedAt = performance.now();
  execFileSync(process.execPath, args, { cwd: folder });
  return performance.now() - startedAt;
}

async function commandLine(bench: Bench, { folder }: Installed): Promise<Row[]> {
  const command = 'node_modules/longshore/local/cli/main.js';
  const targets = { '--version': { most: 3 }, '--help': { most: 8 }, 'status --help': null } as const;
  const rows: Row[] = [];
  for (const [asked, target] of Object.entries(targets)) {
    const measured = await pairs(bench, async () => ({
      theirs: runMs(folder, 'empty.js'),
      ours: runMs(folder, command, ...asked.split(' ')),
    }));
    rows.push(ratioRow(`longshore ${asked}`, 'ms', measured, target, 'an empty program'));
  }
  return rows;
}

/** From the same warm cache. */
async function installation(bench: Bench, { tarball, bullmq }: Installed): Promise<Row[]> {
  const installMs = (what: string): number => {
    const folder = emptyProject(bench.folder());
    const startedAt = performance.now();
    npm(folder, 'install', what);
    return performance.now() - startedAt;
  };
  const measured = await pairs(bench, async () => ({ ours: installMs(tarball), theirs: installMs(bullmq) }));
  return [ratioRow('npm install', 'ms', measured, { most: 1.5 }, 'bullmq')];
}

export const start: Suite = suite({ import: imports, cli: commandLine, install: installation }, install);
