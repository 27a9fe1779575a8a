/** What Longshore costs before it has done anything: memory, start-up time, bytes. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { type Bench, limitRow, median, type Row } from './kit/bench.ts';

export async function rss(bench: Bench): Promise<Row[]> {
  const samples: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const folder = bench.folder();
    const path = join(folder, 'queue.db');
    await bench.run('fill', { path, count: 20_000 });
    samples.push(await bench.run<number>('residentMb', { path, folder, count: 20_000, concurrency: 50 }));
  }
  return [limitRow('memory of a worker after 20,000 jobs', 'MB', samples, 90)];
}

/** The package as it is released: neither type stripping nor thirty small files are what users pay for. */
export async function load(bench: Bench): Promise<Row[]> {
  const folder = join(bench.folder(), 'package');
  const built = spawnSync(process.execPath, [join(bench.root, 'infra/release/build.ts'), folder], {
    encoding: 'utf8',
  });
  const entry = join(folder, 'core/index.js');
  if (!existsSync(entry)) throw new Error(`The package was not built.\n${built.stderr}`);
  symlinkSync(join(bench.root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  writeFileSync(join(folder, 'empty.js'), 'export {};\n');
  const elapsed = (path: string): number => {
    const code = `import(${JSON.stringify(pathToFileURL(path).href)}).then(() => console.log(performance.now()))`;
    return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }));
  };
  const samples: number[] = [];
  for (let i = 0; i < 15; i++) {
    const without = elapsed(join(folder, 'empty.js'));
    samples.push(elapsed(entry) - without);
  }
  return [limitRow('import "longshore"', 'ms', [median(samples)], 10)];
}

export async function bundle(bench: Bench): Promise<Row[]> {
  const sizes: [string, string][] = [
    [
      'core in a bundle, minified: enqueue',
      "export { connect, createApp, defineJob } from './core/index.ts';",
    ],
    [
      '… and run, as in a function',
      "export { attempt } from './core/kernel/flow.ts'; export { createRun } from './core/kernel/attempt/run.ts';",
    ],
    ['… and the polling worker', "export { startWorker } from './core/index.ts';"],
  ];
  const rows: Row[] = [];
  let contents = '';
  for (const [what, more] of sizes) {
    contents += `${more}\n`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: bench.root, loader: 'ts' },
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      target: 'node22',
      write: false,
      logLevel: 'silent',
    });
    rows.push(limitRow(what, 'KB', [outputFiles[0]!.contents.length / 1024], null));
  }
  return rows;
}
