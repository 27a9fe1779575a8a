/**
 * `npm run bench -- sqlite|postgres|redis|beanstalkd|aws|azure|start [--rounds 3] [--only drain] [--json]`
 *
 * Absolute numbers belong to one machine on one day. What counts are the ratios, and every ratio is the median of
 * pairs that were measured right after one another in the same run.
 */

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters, styleText } from 'node:util';
import { buildSync } from 'esbuild';
import { createBench, median, type Row, type Suite, spread } from './kit/bench.ts';

/** Loaded when asked for: what one measures with need not be there for another. */
const suites: Record<string, () => Promise<Suite>> = {
  sqlite: async () => (await import('./sqlite/suite.ts')).sqlite,
  postgres: async () => (await import('./postgres/suite.ts')).postgres,
  redis: async () => (await import('./redis/suite.ts')).redis,
  beanstalkd: async () => (await import('./beanstalkd/suite.ts')).beanstalkd,
  aws: async () => (await import('./aws/suite.ts')).aws,
  azure: async () => (await import('./azure/suite.ts')).azure,
  start: async () => (await import('./start/suite.ts')).start,
};

const root = resolve(import.meta.dirname, '../..');

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
    },
  });
  const [name = 'sqlite', ...others] = positionals;
  const load = suites[name];
  if (!load || others.length > 0) {
    stop(`Expected one of ${Object.keys(suites).join(', ')}, got ${positionals.join(' ')}.`);
  }
  install();
  const suite = await load();
  const { only = suite.groups, json } = values;
  const rounds = Number(values.rounds);
  const unknown = only.find((group) => !suite.groups.includes(group));
  if (!Number.isInteger(rounds) || rounds < 1)
    stop(`--rounds expects a positive integer, got ${values.rounds}.`);
  if (unknown) stop(`--only expects one of ${suite.groups.join(', ')}, got ${unknown}.`);
  const { rows, noise } = await measure(name, suite, only, rounds);
  if (json) console.log(JSON.stringify({ node: process.version, rounds, noise, rows }, null, 2));
  else print(rows, rounds, noise);
}

async function measure(
  name: string,
  suite: Suite,
  groups: readonly string[],
  rounds: number,
): Promise<{ rows: Row[]; noise: readonly number[] }> {
  const bench = createBench(root, name, compileChild, rounds);
  process.once('exit', bench.close);
  // Without its children each group fails at once, and the suite stops the services that it has started.
  let exitCode: number | null = null;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(signal, () => {
      exitCode = code;
      bench.close();
    });
  }
  try {
    return { rows: await suite.run(bench, groups), noise: bench.noise };
  } finally {
    if (exitCode !== null) process.exit(exitCode);
  }
}

/** The peers have an install of their own, made when it is first needed. */
function install(): void {
  const folder = import.meta.dirname;
  if (isInstalled(folder)) return;
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm, 'ci']] : ['npm', ['ci']];
  const { status, error } = spawnSync(command, args, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) stop(`npm ci in test/bench failed${error ? `: ${error.message}` : ''}.`);
}

/** Not when packages have been added or renewed since. */
function isInstalled(folder: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return Object.entries(dependencies).every(([name, version]) => {
    const path = join(folder, 'node_modules', name, 'package.json');
    return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).version === version;
  });
}

/** Plain JavaScript: the children must not carry the compiler in their memory. */
function compileChild(folder: string): string {
  buildSync({
    entryPoints: [join(import.meta.dirname, 'kit/child.ts')],
    outdir: folder,
    bundle: true,
    splitting: true, // so that a suite is loaded alone
    external: ['pg', '@redis/client'], // they must be the very modules that the package finds
    platform: 'node',
    format: 'esm',
    target: 'node22',
    outExtension: { '.js': '.mjs' },
    logLevel: 'error',
  });
  const scripts = join(root, 'local/backends/redis'); // which are read from beside the code
  for (const name of readdirSync(scripts).filter((file) => file.endsWith('.lua')))
    copyFileSync(join(scripts, name), join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  return join(folder, 'child.mjs');
}

function print(rows: readonly Row[], rounds: number, noise: readonly number[]): void {
  const table = rows.map(({ name, reached, against, score, target, met, samples }, i) => [
    name === rows[i - 1]?.name ? '' : name,
    reached,
    against,
    against === '' ? '' : score === null ? 'no difference' : `${score.toFixed(2)} ×`,
    spread(samples).map(digits).join(' to '),
    target,
    met === null ? '' : met ? styleText('green', '✓') : styleText('red', '✗'),
  ]);
  const all = [['', 'Longshore', 'compared with', 'ratio', 'spread', 'target', ''], ...table];
  const width = (text: string) => stripVTControlCharacters(text).length;
  const widths = all[0]!.map((_, column) => Math.max(...all.map((line) => width(line[column]!))));
  for (const line of all) {
    console.log(
      line
        .map((text, i) => text + ' '.repeat(widths[i]! - width(text)))
        .join('  ')
        .trimEnd(),
    );
  }
  if (noise.length > 0) {
    const [least, most] = spread(noise);
    console.log(
      `\nThe same work took ${median(noise).toFixed(0)} ms before each measurement, ${least.toFixed(0)} to ${most.toFixed(0)} ms.`,
    );
  }
  const missed = rows.filter(({ met }) => met === false).length;
  console.log(
    `\nNode ${process.version}, medians of ${rounds} rounds; ${missed} of ${rows.length} rows miss their target.`,
  );
}

const digits = (value: number): string => (value < 1000 ? value.toPrecision(3) : String(Math.round(value)));

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

await main();
