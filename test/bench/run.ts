/**
 * `npm run bench -- sqlite [--rounds 3] [--only drain] [--json]`
 *
 * Absolute numbers belong to one machine on one day. What counts are the ratios, and every ratio is the median of
 * pairs that were measured right after one another in the same run.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs, stripVTControlCharacters, styleText } from 'node:util';
import { buildSync } from 'esbuild';
import { type Bench, createBench, type Row } from './bench.ts';
import { bundle, load, rss } from './footprint.ts';
import { latency } from './latency.ts';
import { bulk, single } from './sending.ts';
import { backlog, core, drain, history, workers } from './throughput.ts';

const groups: Record<string, (bench: Bench) => Promise<Row[]>> = {
  drain,
  history,
  workers,
  bulk,
  single,
  latency,
  backlog,
  rss,
  core,
  import: load,
  bundle,
};

const root = resolve(import.meta.dirname, '../..');

function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', multiple: true, default: Object.keys(groups) },
      json: { type: 'boolean', default: false },
    },
  });
  const rounds = Number(values.rounds);
  const unknown = values.only.find((name) => !groups[name]);
  if (positionals.some((name) => name !== 'sqlite')) stop('The only backend with a benchmark is "sqlite".');
  if (!Number.isInteger(rounds) || rounds < 1)
    stop(`--rounds expects a positive integer, got ${values.rounds}.`);
  if (unknown) stop(`--only expects one of ${Object.keys(groups).join(', ')}, got ${unknown}.`);
  return measure(values.only, rounds, values.json);
}

async function measure(names: readonly string[], rounds: number, json: boolean): Promise<void> {
  install();
  const bench = createBench(root, compileChild, rounds);
  process.once('exit', bench.close);
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  const rows: Row[] = [];
  for (const name of names) {
    bench.note(`${name} …`);
    rows.push(...(await groups[name]!(bench)));
  }
  if (json) console.log(JSON.stringify({ node: process.version, rounds, rows }, null, 2));
  else print(rows, rounds);
}

/** The peers have an install of their own, made when it is first needed. */
function install(): void {
  const folder = import.meta.dirname;
  if (existsSync(join(folder, 'node_modules'))) return;
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm, 'ci']] : ['npm', ['ci']];
  const { status, error } = spawnSync(command, args, { cwd: folder, stdio: ['ignore', 2, 2] });
  if (status !== 0) stop(`npm ci in test/bench failed${error ? `: ${error.message}` : ''}.`);
}

/** One file of plain JavaScript: the children must not carry the compiler in their memory. */
function compileChild(folder: string): string {
  const outfile = join(folder, 'child.mjs');
  buildSync({
    entryPoints: [join(import.meta.dirname, 'child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    logLevel: 'error',
  });
  return outfile;
}

function print(rows: readonly Row[], rounds: number): void {
  const table = rows.map(({ name, reached, against, score, target, met }) => [
    name,
    reached,
    against,
    against === '' || score === null ? '' : `${score.toFixed(2)} ×`,
    target,
    met === null ? '' : met ? styleText('green', '✓') : styleText('red', '✗'),
  ]);
  const all = [['', 'Longshore', 'compared with', 'ratio', 'target', ''], ...table];
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
  const missed = rows.filter(({ met }) => met === false).length;
  console.log(
    `\nNode ${process.version}, medians of ${rounds} rounds; ${missed} of ${rows.length} rows miss their target.`,
  );
}

function stop(message: string): never {
  console.error(message);
  process.exit(2);
}

await main();
